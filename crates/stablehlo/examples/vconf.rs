fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    for i in 0..n {
        let Ok(text) = std::fs::read_to_string(format!("{dir}/{i}.mlir")) else {
            println!("{i}\tPARSE\tnot utf8");
            continue;
        };
        let (stage, errs) = match shardc_stablehlo::parse(&text) {
            Err(e) => ("PARSE", e),
            Ok(m) => match shardc_ir::verify(&m) {
                Err(e) => ("VERIFY", e),
                Ok(()) => {
                    println!("{i}\tOK");
                    continue;
                }
            },
        };
        let msg: Vec<String> =
            errs.iter().map(|d| format!("{} {}", d.code, d.message.replace('\n', " "))).collect();
        println!("{i}\t{stage}\t{}", msg.join(" || "));
    }
}
