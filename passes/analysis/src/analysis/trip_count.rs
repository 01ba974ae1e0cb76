//! Static trip counts of loops: [`shardc_ir::trip_count`] for passes.

pub use shardc_ir::trip_count::{known_trips, run_counts, runs, trips};

#[cfg(test)]
mod tests {
    use shardc_ir::OpKind;

    use super::*;

    fn count(condition: &str, step: &str, start: i64) -> Option<u64> {
        let text = format!(
            "func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {{
              %start = stablehlo.constant dense<{start}> : tensor<i32>
              %limit = stablehlo.constant dense<10> : tensor<i32>
              %r:3 = stablehlo.while(%i = %start, %l = %limit, %y = %x) : tensor<i32>, tensor<i32>, tensor<f32>
              cond {{
                %ten = stablehlo.constant dense<10> : tensor<i32>
                %c = stablehlo.compare {condition} : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
              }} do {{
                %by = stablehlo.constant dense<3> : tensor<i32>
                %next = stablehlo.{step} : tensor<i32>
                stablehlo.return %next, %l, %y : tensor<i32>, tensor<i32>, tensor<f32>
              }}
              return %r#2 : tensor<f32>
            }}"
        );
        let module = shardc_stablehlo::parse(&text).unwrap();
        let body = module.bodies().next().unwrap();
        let op =
            module.walk(body).into_iter().find(|&op| matches!(module.ops[op].kind, OpKind::While)).unwrap();
        known_trips(&module, op)
    }

    #[test]
    fn counting_loops_have_a_known_trip_count() {
        assert_eq!(count("LT, %i, %ten", "add %i, %by", 0), Some(4));
        assert_eq!(count("LE, %i, %ten", "add %by, %i", 1), Some(4));
        assert_eq!(count("GT, %ten, %i", "add %i, %by", 4), Some(2));
        assert_eq!(count("GE, %i, %ten", "subtract %i, %by", 20), Some(4));
        assert_eq!(count("NE, %i, %ten", "add %i, %by", 1), Some(3));
        assert_eq!(count("LT, %i, %ten", "add %i, %by", 12), Some(0));
        assert_eq!(count("LT, %i, %l", "add %i, %by", 0), Some(4), "a bound that is carried along");
    }

    #[test]
    fn other_loops_have_an_unknown_trip_count() {
        assert_eq!(count("LT, %i, %n", "add %i, %by", 0), None, "a bound that is an input");
        assert_eq!(count("LT, %i, %ten", "multiply %i, %by", 1), None);
        assert_eq!(count("LT, %i, %ten", "subtract %i, %by", 0), None, "it goes away from the bound");
        assert_eq!(count("NE, %i, %ten", "add %i, %by", 0), None, "it steps over the bound");
        assert_eq!(count("EQ, %i, %ten", "add %i, %by", 10), None);
    }

    /// Tests a loop that carries and converts its start, stop and step, and computes the trip count in the condition.
    #[test]
    fn trip_counts_computed_in_the_condition_are_known() {
        let trips = |condition: &str| {
            let text = format!(
                "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
                  %zero = stablehlo.constant dense<0> : tensor<i32>
                  %from = stablehlo.constant dense<3> : tensor<i32>
                  %to = stablehlo.constant dense<21> : tensor<i32>
                  %i0 = stablehlo.convert %zero : (tensor<i32>) -> tensor<i64>
                  %start = stablehlo.convert %from : (tensor<i32>) -> tensor<i64>
                  %stop = stablehlo.convert %to : (tensor<i32>) -> tensor<i64>
                  %two = stablehlo.constant dense<2> : tensor<i64>
                  %r:5 = stablehlo.while(%i = %i0, %a = %start, %b = %stop, %s = %two, %y = %x)
                      : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>
                  cond {{
                    %one = stablehlo.constant dense<1> : tensor<i64>
                    %d = stablehlo.subtract %b, %a : tensor<i64>
                    {condition}
                    stablehlo.return %c : tensor<i1>
                  }} do {{
                    %by = stablehlo.constant dense<1> : tensor<i64>
                    %next = stablehlo.add %i, %by : tensor<i64>
                    stablehlo.return %next, %a, %b, %s, %y
                        : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>
                  }}
                  return %r#4 : tensor<f32>
                }}"
            );
            let module = shardc_stablehlo::parse(&text).unwrap();
            let body = module.bodies().next().unwrap();
            let is_loop = |&op: &shardc_ir::OpId| matches!(module.ops[op].kind, OpKind::While);
            known_trips(&module, module.walk(body).into_iter().find(is_loop).unwrap())
        };
        let compare = |left: &str, right: &str| {
            format!("%c = stablehlo.compare LT, {left}, {right} : (tensor<i64>, tensor<i64>) -> tensor<i1>")
        };
        let divided =
            "%q = stablehlo.divide %d, %s : tensor<i64>\n%n = stablehlo.add %q, %one : tensor<i64>\n";
        assert_eq!(trips(&format!("{divided}{}", compare("%i", "%n"))), Some(10));
        let plus_start = "%m = stablehlo.add %i, %a : tensor<i64>\n";
        assert_eq!(trips(&format!("{plus_start}{}", compare("%m", "%b"))), Some(18));
        let narrow = "%z = stablehlo.convert %d : (tensor<i64>) -> tensor<i8>
            %w = stablehlo.convert %z : (tensor<i8>) -> tensor<i64>\n";
        assert_eq!(trips(&format!("{narrow}{}", compare("%i", "%w"))), Some(18));
        let wraps = "%k = stablehlo.constant dense<100> : tensor<i64>
            %p = stablehlo.multiply %d, %k : tensor<i64>
            %z = stablehlo.convert %p : (tensor<i64>) -> tensor<i8>
            %w = stablehlo.convert %z : (tensor<i8>) -> tensor<i64>\n";
        assert_eq!(trips(&format!("{wraps}{}", compare("%i", "%w"))), None, "1800 is no i8");
    }
}
