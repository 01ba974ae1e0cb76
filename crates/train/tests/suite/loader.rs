//! Training with a loader has the same results on all meshes, and after resuming at any position.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use shardc::checkpoint::{Alone, Checkpoint, Fit, Info, Store};
use shardc::graph::{DType::F32, Graph, Mesh, spec};
use shardc::runtime::{
    Client, ClientOptions, Environment, ErrorClass, Plugin, PluginKind, RuntimeError, plugin,
};
use shardc::{Compiler, Error};
use shardc_train::loader::{Arrays, Callback, Shuffled, Source};
use shardc_train::nn::{Init, Scope};
use shardc_train::{HostArray, Loader, LoaderOptions, Position, State, Step, checkpoint};

const ROWS: usize = 8;

fn client() -> Option<Client> {
    let found = plugin::find(PluginKind::Cpu, &Environment::from_process()).ok()?;
    let plugin = Plugin::load(&found.path).unwrap();
    Some(Client::new(&plugin, ClientOptions { cpu_device_count: Some(8) }).unwrap())
}

/// A step of gradient descent on the squared distance to the rows, on `devices` devices.
fn step(client: &Client, devices: i64) -> Step {
    let g = Graph::new("step", &Mesh::new(&[("data", devices)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [ROWS as i64, 2], F32).mark_sharding(spec!["data", None]);
    let w = p.parameter("w", [2], Init::zeros());
    let loss = (x - w).square().mean(..);
    p.set("w", w - 0.5 * p.gradients(loss)[0]);
    Step::compile(client, &Compiler::new(), p.finish(&[("loss", loss), ("x", x)]).unwrap()).unwrap()
}

/// Twenty rows, each identified by its number.
fn source() -> Shuffled<Arrays> {
    let values: Vec<f32> = (0..40u8).map(f32::from).collect();
    let rows = HostArray::from_slice(&values, &[20, 2]).unwrap();
    Shuffled::new(Arrays::new(vec![("x", rows)]).unwrap(), ROWS, 3)
}

fn loader(step: &Step, source: impl Source + 'static, position: Option<Position>) -> Loader {
    Loader::new(step, source, LoaderOptions { position, ..LoaderOptions::default() }).unwrap()
}

/// The rows of each of `steps` batches as the devices received them, and the variable after each step.
fn trained(step: &Step, state: &mut State, loader: &mut Loader, steps: u64) -> Vec<(HostArray, HostArray)> {
    (0..steps)
        .map(|_| {
            let batch = loader.next().unwrap().unwrap();
            assert_eq!((batch.number() + 1, batch.rows()), (loader.next_position().batch, ROWS));
            let metrics = step.run_batch(state, &batch).unwrap();
            (metrics.get("x").unwrap(), state.get("w").unwrap())
        })
        .collect()
}

#[test]
fn batches_are_the_same_for_all_meshes() {
    let Some(client) = client() else { return };
    let mut seen = Vec::new();
    for devices in [1, 2, 4, 8] {
        let step = step(&client, devices);
        let mut state = step.init(0).unwrap();
        let batches = trained(&step, &mut state, &mut loader(&step, source(), None), 6);
        seen.push(batches.into_iter().map(|(rows, _)| rows).collect::<Vec<_>>());
    }
    assert!(seen.iter().all(|batches| *batches == seen[0]));
    assert!(seen[0][0] != seen[0][2], "epochs differ");
}

/// Resumes from every position: on another mesh the batches are equal, and on the same mesh the results are equal bit for bit.
#[test]
fn training_resumes_from_any_position() {
    let Some(client) = client() else { return };
    let (four, two) = (step(&client, 4), step(&client, 2));
    let whole = trained(&four, &mut four.init(0).unwrap(), &mut loader(&four, source(), None), 6);
    for position in 0..6u64 {
        let (store, mut state) = (Store::memory().unwrap(), four.init(0).unwrap());
        let mut before = loader(&four, source(), None);
        trained(&four, &mut state, &mut before, position);
        // At this point, there are prefetched batches that no step has consumed.
        let mut info = Info::default();
        before.next_position().note(&mut info);
        checkpoint::save(&store, "run", &four, &state, &info, &Alone).unwrap();
        drop((before, state));
        let saved = Checkpoint::open(&store, "run").unwrap();
        let noted = Position::noted(saved.info()).unwrap();
        assert_eq!(noted, Some(Position { batch: position, rows: ROWS }));
        let mut state = checkpoint::restore(&saved, &four, &Fit::default()).unwrap();
        let rest = trained(&four, &mut state, &mut loader(&four, source(), noted), 6 - position);
        assert!(rest == whole[position as usize..], "from {position}");
        let mut state = checkpoint::restore(&saved, &two, &Fit::default()).unwrap();
        let rest = trained(&two, &mut state, &mut loader(&two, source(), noted), 6 - position);
        let rows =
            |steps: &[(HostArray, HostArray)]| steps.iter().map(|(rows, _)| rows.clone()).collect::<Vec<_>>();
        assert!(rows(&rest) == rows(&whole[position as usize..]), "from {position}");
    }
    let options =
        LoaderOptions { position: Some(Position { batch: 1, rows: 4 }), ..LoaderOptions::default() };
    assert!(Loader::new(&four, source(), options).unwrap_err().to_string().contains("SH1123"));
}

#[test]
fn source_errors_name_the_batch() {
    let Some(client) = client() else { return };
    let step = step(&client, 4);
    let fails = Callback::new(&["x"], |batch, rows| {
        if batch == 3 && rows.contains(&6) {
            return Err("the disk is gone".into());
        }
        Ok(vec![HostArray::filled(shardc::ir::DType::F32, &[rows.len(), 2], batch as f64)?])
    });
    let mut loader = loader(&step, fails, None);
    let mut state = step.init(0).unwrap();
    trained(&step, &mut state, &mut loader, 3);
    let error = loader.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "error[SH1122]: the source failed to read rows 0..8 of batch 3: the disk is gone");
    // The position is still available, and no batch follows.
    assert_eq!(loader.next_position().batch, 3);
    assert!(loader.next().is_none());
    let unknown = Callback::new(&["y"], |_, _| Ok(Vec::new()));
    let error = Loader::new(&step, unknown, LoaderOptions::default()).unwrap_err().to_string();
    assert!(error.contains("SH0720") && error.contains("\"y\""), "{error}");
}

#[test]
fn prefetch_is_limited() {
    let Some(client) = client() else { return };
    let step = step(&client, 4);
    for ahead in [1, 3] {
        let made = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&made);
        let source = Callback::new(&["x"], move |batch, rows| {
            counted.store(batch + 1, Ordering::SeqCst);
            Ok(vec![HostArray::zeros(shardc::ir::DType::F32, &[rows.len(), 2])?])
        });
        let mut loader = Loader::new(&step, source, LoaderOptions { ahead, position: None }).unwrap();
        for taken in 0..4 {
            let end = Instant::now() + Duration::from_secs(20);
            while made.load(Ordering::SeqCst) < taken + ahead as u64 {
                assert!(Instant::now() < end, "nothing is made ahead");
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(made.load(Ordering::SeqCst), taken + ahead as u64);
            loader.next().unwrap().unwrap();
        }
    }
}

/// Steps run asynchronously; their times are available after they complete.
#[test]
fn steps_report_their_times() {
    let Some(client) = client() else { return };
    let step = step(&client, 4).with_in_flight(3);
    let mut state = step.init(0).unwrap();
    let mut loader = loader(&step, source(), None);
    let started: Vec<_> =
        (0..20).map(|_| step.run_batch(&mut state, &loader.next().unwrap().unwrap()).unwrap()).collect();
    assert!(started[..17].iter().all(shardc_train::Metrics::is_done));
    for metrics in &started {
        let times = metrics.times().unwrap();
        assert!(times.device > Duration::ZERO && times.transfer < Duration::from_secs(5), "{times:?}");
        assert!(metrics.is_done());
    }
    let x = HostArray::zeros(shardc::ir::DType::F32, &[ROWS, 2]).unwrap();
    assert_eq!(step.run(&mut state, &[("x", &x)]).unwrap().times().unwrap().input, Duration::ZERO);
}

#[test]
fn step_reports_a_deleted_buffer() {
    let Some(client) = client() else { return };
    let step = step(&client, 4);
    let mut state = step.init(0).unwrap();
    let x = HostArray::zeros(shardc::ir::DType::F32, &[ROWS, 2]).unwrap();
    state.sharded("w").unwrap().buffers()[1].delete().unwrap();
    let Err(Error::Runtime(error)) = step.run(&mut state, &[("x", &x)]) else { panic!("it ran") };
    assert!(matches!(error, RuntimeError::Deleted) && error.class() == ErrorClass::InvalidInput);
    let gone = step.run(&mut state, &[("x", &x)]).unwrap_err().to_string();
    assert!(gone.contains("SH0722"), "{gone}");
}

/// A step that returns the sum of `u - v + x`. Its variables are created in the order of `names`.
fn difference(client: &Client, names: [&str; 2]) -> Step {
    let g = Graph::new("step", &Mesh::new(&[("data", 4)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", (), F32);
    let first = |name| if name == "u" { 1.0 } else { 10.0 };
    let values = names.map(|name| (p.parameter(name, [4], Init::Constant(first(name))), first(name)));
    let difference = values.map(|(value, first)| if first == 1.0 { value } else { -value });
    let sum = (difference[0] + difference[1] + x).sum(..);
    Step::compile(client, &Compiler::new(), p.finish(&[("difference", sum)]).unwrap()).unwrap()
}

#[test]
fn mismatched_state_is_rejected_and_preserved() {
    let Some(client) = client() else { return };
    let (step, turned) = (difference(&client, ["u", "v"]), difference(&client, ["v", "u"]));
    let mut state = step.init(0).unwrap();
    let zero = HostArray::zeros(F32, &[]).unwrap();
    for step in [&step, &turned] {
        let metrics = step.run(&mut state, &[("x", &zero)]).unwrap();
        assert_eq!(metrics.scalar("difference").unwrap(), -36.0);
    }
    // The step rejects a state with other variables, and inputs and variables of a different type.
    let other = difference(&client, ["u", "w"]);
    let error = other.run(&mut state, &[("x", &zero)]).unwrap_err().to_string();
    assert!(error.contains("SH0720") && error.contains("lacks the variable \"w\""), "{error}");
    let saved = |step: &Step| checkpoint::parts(step, &state, &Info::default(), &Alone);
    assert!(saved(&turned).is_ok());
    assert!(saved(&other).unwrap_err().to_string().contains("lacks the variable \"w\""));
    let whole = HostArray::zeros(shardc::ir::DType::I32, &[]).unwrap();
    let error = step.run(&mut state, &[("x", &whole)]).unwrap_err().to_string();
    assert!(error.contains("the input \"x\" is tensor<i32>"), "{error}");
    let spread = other.put_input("x", &zero).unwrap();
    assert_eq!(step.run(&mut state, &[("x", &spread)]).unwrap().scalar("difference").unwrap(), -36.0);
    assert_eq!(state.len(), 2);
    let error = step.run(&mut state, &[("x", &zero), ("x", &zero)]).unwrap_err().to_string();
    assert!(error.contains("the input \"x\" is given twice"), "{error}");
}

#[test]
fn maximum_propagates_nan() {
    let Some(client) = client() else { return };
    let g = Graph::new("step", &Mesh::new(&[]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [3], F32);
    let step = Step::single(&client, p.finish(&[("max", x.amax(..)), ("relu", x.max(0.0).sum(..))]).unwrap())
        .unwrap();
    let x = HostArray::from_slice(&[1.0f32, f32::NAN, 3.0], &[3]).unwrap();
    let metrics = step.run(&mut step.init(0).unwrap(), &[("x", &x)]).unwrap();
    assert!(metrics.scalar("max").unwrap().is_nan() && metrics.scalar("relu").unwrap().is_nan());
}
