//! scratch: bc FILE.mlir FILE.mlirbc... compares
use shardc_stablehlo::*;
fn main() {
    let mut bad = 0; let mut n = 0;
    let strip = |s: String| s;
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args[0] == "-p" {
        let b = std::fs::read(&args[1]).unwrap();
        match parse_bytecode(&b) { Ok(m) => print!("{}", print(&m, &PrintOptions { ..Default::default() })), Err(e) => print!("{}", render(&e, &args[1], "", false)) }
        return;
    }
    for path in &args {
        // path.X.mlirbc beside path.mlir
        let b = std::fs::read(path).unwrap();
        let t = path.rsplit_once('.').unwrap().0.rsplit_once('.').unwrap().0.to_owned() + ".mlir";
        let t = std::fs::read_to_string(&t).unwrap();
        n += 1;
        let m1 = match parse(&t) { Ok(m) => m, Err(e) => { println!("{path}: text: {}", e[0]); continue } };
        let m2 = match parse_bytecode(&b) { Ok(m) => m, Err(e) => { bad += 1; println!("{path}: {}", render(&e, path, "", false)); continue } };
        for (form, locs) in [(PrintForm::Pretty, false), (PrintForm::Generic, false), (PrintForm::Pretty, true)] {
            if locs && !t.contains("loc(") { continue }
            let o = PrintOptions { form, locations: locs, ..Default::default() };
            let (a, b) = (strip(print(&m1, &o)), strip(print(&m2, &o)));
            if a != b {
                bad += 1;
                println!("{path}: differs locs={locs}");
                for (x, y) in a.lines().zip(b.lines()).filter(|(x, y)| x != y).take(2) { 
                  let k = x.bytes().zip(y.bytes()).take_while(|(a,b)| a==b).count().saturating_sub(40);
                  println!("  T {}\n  B {}", x.get(k..).unwrap_or(x).chars().take(300).collect::<String>(), y.get(k..).unwrap_or(y).chars().take(300).collect::<String>()); }
                break;
            }
        }
    }
    println!("{n} files, {bad} bad");
}
