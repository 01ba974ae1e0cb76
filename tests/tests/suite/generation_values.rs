//! Text generation: decoders produce the same logits for a prompt in one pass, token by token, and for the entire text at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;

use shardc::Compiler;
use shardc::graph::{DType::I32, Graph, Mesh, spec};
use shardc::runtime::{Client, HostArray};
use shardc_tests::devices::client;
use shardc_train::nn::Scope;
use shardc_train::nn::layers::Attention;
use shardc_train::nn::models::{Decoder, megatron};
use shardc_train::{State, Step};

fn one() -> Mesh {
    Mesh::new(&[("data", 1)]).unwrap()
}

const CONTEXT: i64 = 8;
const VOCAB: usize = 12;

/// Programs for four texts, over eight devices or on one.
#[derive(Clone, Copy)]
struct Texts<'c> {
    client: &'c Client,
    decoder: &'c Decoder,
    is_split: bool,
}

impl Texts<'_> {
    fn step(&self, build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>) -> shardc::graph::Tensor<'g>) -> Step {
        let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
        let p = Scope::new(&g);
        let logits = build(&g, &p);
        p.mark_sharding(|variable| megatron(variable, "model"));
        let program = p.finish(&[("logits", logits)]).unwrap();
        if self.is_split {
            return Step::compile(self.client, &Compiler::new(), program).unwrap();
        }
        Step::single(self.client, program).unwrap()
    }

    /// Logits after an entire text, without a cache.
    fn whole(&self, time: i64) -> Step {
        self.step(|g, p| {
            let tokens = g.parameter("tokens", [4, time], I32).mark_sharding(spec!["data", None]);
            self.decoder.apply(p, tokens, None).slice(1, -1..).squeeze(1)
        })
    }

    fn prefill(&self, time: i64, has_lengths: bool) -> Step {
        self.step(|g, p| {
            let tokens = g.parameter("tokens", [4, time], I32).mark_sharding(spec!["data", None]);
            let lengths = has_lengths.then(|| g.parameter("lengths", [4], I32));
            self.decoder.prefill(p, tokens, lengths, CONTEXT)
        })
    }

    fn next(&self) -> Step {
        self.step(|g, p| {
            let tokens = g.parameter("token", [4], I32).mark_sharding(spec!["data"]);
            self.decoder.next(p, tokens, g.parameter("position", (), I32), CONTEXT)
        })
    }
}

/// Runs a step, and returns the logits of each of the four texts.
fn logits_of(step: &Step, state: &mut State, inputs: &[(&str, &[i32])]) -> Vec<Vec<f64>> {
    let array = |name: &str, numbers: &[i32]| match (name, numbers.len()) {
        ("position", _) => HostArray::from_slice(numbers, &[]).unwrap(),
        ("token" | "lengths", _) => HostArray::from_slice(numbers, &[4]).unwrap(),
        (_, count) => HostArray::from_slice(numbers, &[4, count / 4]).unwrap(),
    };
    let arrays: Vec<(&str, HostArray)> =
        inputs.iter().map(|&(name, numbers)| (name, array(name, numbers))).collect();
    let inputs: Vec<(&str, &HostArray)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    let logits = step.run(state, &inputs).unwrap().get("logits").unwrap().to_f64_vec();
    logits.chunks(VOCAB).map(<[f64]>::to_vec).collect()
}

#[track_caller]
fn assert_close(have: &[f64], want: &[f64], what: &str) {
    let off = have.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(have.len() == want.len() && off < 1e-5, "{what} is off by {off:e}: {have:?}, not {want:?}");
}

fn decoders() -> [(&'static str, Decoder); 4] {
    let (gpt2, llama) = (Decoder::gpt2(12, 8, 8, 2, 2), Decoder::llama(12, 16, 20, 2, 4, 2));
    let near = Decoder { attention: Attention::new(2).causal().window(3).alibi(), ..gpt2.clone() };
    let by_blocks = llama.clone().attention_block(3);
    [("gpt2", gpt2), ("llama", llama), ("near", near), ("by blocks", by_blocks)]
}

/// Token `at` of a text.
fn token(text: i32, at: i32) -> i32 {
    (7 * text + 5 * at + at * at) % 12
}

#[test]
fn a_prompt_is_read_in_one_pass() {
    let Some(client) = client().unwrap() else { return };
    const TIME: i32 = 6;
    let column = |at: i32| (0..4).map(|text| token(text, at)).collect::<Vec<_>>();
    let prompts: Vec<i32> = (0..4).flat_map(|text| (0..TIME).map(move |at| token(text, at))).collect();
    for (name, decoder) in &decoders() {
        for is_split in [false, true] {
            let texts = Texts { client: &client, decoder, is_split };
            let (prefill, next) = (texts.prefill(TIME.into(), false), texts.next());
            let mut by_steps = next.init(1).unwrap();
            let mut want = Vec::new();
            for at in 0..TIME {
                want = logits_of(&next, &mut by_steps, &[("token", &column(at)), ("position", &[at])]);
            }
            // The cache of another text is cleared, and positions after the prompt are not attended to.
            let mut state = next.init(1).unwrap();
            for at in 0..CONTEXT as i32 {
                _ = logits_of(&next, &mut state, &[("token", &[3; 4]), ("position", &[at])]);
            }
            let mut state = prefill.adopt(&state).unwrap();
            let have = logits_of(&prefill, &mut state, &[("tokens", &prompts)]);
            assert_close(&have.concat(), &want.concat(), name);
            for what in ["cache.first", "cache.next"] {
                assert_eq!(state.get(what).unwrap(), by_steps.get(what).unwrap());
            }
            for what in ["cache.key", "cache.value"] {
                // The cache of the prompt, indexed by layer, text and position, with one vector for each.
                let of_prompt = |state: &State| -> Vec<f64> {
                    let kept = state.get(what).unwrap();
                    let vector = kept.shape[3] * kept.shape[4];
                    let rows = kept.to_f64_vec();
                    rows.chunks(8 * vector).flat_map(|row| row[..6 * vector].to_vec()).collect()
                };
                let have = of_prompt(&state);
                assert!(have.iter().any(|number| number.abs() > 1e-3), "{name}: {what} is empty");
                assert_close(&have, &of_prompt(&by_steps), what);
            }
            let mut state = next.adopt(&state).unwrap();
            for at in TIME..CONTEXT as i32 {
                let inputs = [("token", &*column(at)), ("position", &[at])];
                let [have, want] =
                    [&mut state, &mut by_steps].map(|state| logits_of(&next, state, &inputs).concat());
                assert_close(&have, &want, name);
            }
        }
    }
}

#[test]
fn prompts_of_different_lengths_end_together() {
    let Some(client) = client().unwrap() else { return };
    const TIME: i32 = 6;
    let lengths = [6, 2, 1, 4];
    let of = |text: usize, at: i32| token(text as i32, at);
    // Any token can be padding.
    let padded = |text: usize| {
        let before = TIME - lengths[text];
        (0..TIME).map(move |at| if at < before { 9 } else { of(text, at - before) })
    };
    let prompts: Vec<i32> = (0..4).flat_map(padded).collect();
    for (name, decoder) in &decoders()[..3] {
        let mut wholes: HashMap<i32, Step> = HashMap::new();
        for is_split in [false, true] {
            let texts = Texts { client: &client, decoder, is_split };
            let (prefill, next) = (texts.prefill(TIME.into(), true), texts.next());
            let mut state = prefill.init(1).unwrap();
            let mut have = logits_of(&prefill, &mut state, &[("tokens", &prompts), ("lengths", &lengths)]);
            let weights = state.clone();
            let mut state = next.adopt(&state).unwrap();
            for more in 0..3 {
                if more > 0 {
                    let at = |text: usize| of(text, lengths[text] + more - 1);
                    let inputs =
                        [("token", &*(0..4).map(at).collect::<Vec<_>>()), ("position", &[TIME - 1 + more])];
                    have = logits_of(&next, &mut state, &inputs);
                }
                for text in 0..4 {
                    let time = lengths[text] + more;
                    // All four rows contain the same text.
                    let tokens: Vec<i32> = (0..4).flat_map(|_| (0..time).map(|at| of(text, at))).collect();
                    let whole = wholes
                        .entry(time)
                        .or_insert_with(|| Texts { is_split: false, ..texts }.whole(time.into()));
                    let want = logits_of(whole, &mut whole.adopt(&weights).unwrap(), &[("tokens", &tokens)]);
                    assert_close(&have[text], &want[text], &format!("{name}: text {text} and {more}"));
                }
            }
        }
    }
}

/// A text with an empty prompt begins with the token after the prompt. A text whose given length exceeds its actual length has no result.
#[test]
fn prompts_of_invalid_lengths_have_no_result() {
    let Some(client) = client().unwrap() else { return };
    let decoder = Decoder::gpt2(12, 8, 8, 2, 2);
    let texts = Texts { client: &client, decoder: &decoder, is_split: false };
    let (prefill, next, whole) = (texts.prefill(3, true), texts.next(), texts.whole(1));
    let mut state = prefill.init(1).unwrap();
    let inputs: [(&str, &[i32]); 2] = [("tokens", &[1; 12]), ("lengths", &[0, 3, 4, -1])];
    let have = logits_of(&prefill, &mut state, &inputs);
    let is_nan = have.iter().map(|text| text.iter().all(|number| number.is_nan())).collect::<Vec<_>>();
    assert_eq!(is_nan, [true, false, true, true]);
    assert!(have[1].iter().all(|number| number.is_finite()));
    let mut after = next.adopt(&state).unwrap();
    let have = logits_of(&next, &mut after, &[("token", &[5; 4]), ("position", &[3])]);
    let want = logits_of(&whole, &mut whole.adopt(&state).unwrap(), &[("tokens", &[5; 4])]);
    assert_close(&have[0], &want[0], "a text that begins");
}

/// A decoder that gets one token at a time and caches earlier tokens produces the same logits as for the entire text at once.
#[test]
fn a_decoder_continues_from_its_cache() {
    let Some(client) = client().unwrap() else { return };
    let mesh = Mesh::new(&[("data", 2), ("model", 2)]).unwrap();
    for decoder in [Decoder::gpt2(12, 6, 8, 2, 2), Decoder::llama(12, 16, 20, 2, 4, 2)] {
        let whole = {
            let g = Graph::new("whole", &mesh);
            let p = Scope::new(&g);
            let tokens = g.parameter("tokens", [2, 5], I32).mark_sharding(spec!["data", None]);
            p.finish(&[("logits", decoder.apply(&p, tokens, None))]).unwrap()
        };
        let next = {
            let g = Graph::new("next", &mesh);
            let p = Scope::new(&g);
            let tokens = g.parameter("tokens", [2], I32).mark_sharding(spec!["data"]);
            let logits = decoder.next(&p, tokens, g.parameter("position", (), I32), 6);
            p.mark_sharding(|variable| megatron(variable, "model"));
            p.finish(&[("logits", logits)]).unwrap()
        };
        let (whole, next) =
            (Step::single(&client, whole).unwrap(), Step::compile(&client, &Compiler::new(), next).unwrap());
        let texts = [[3.0, 0.0, 7.0, 11.0, 2.0], [1.0, 1.0, 9.0, 4.0, 10.0]];
        let tokens = HostArray::from_f64(I32, &[2, 5], texts.as_flattened()).unwrap();
        let mut weights = whole.init(1).unwrap();
        let want =
            whole.run(&mut weights, &[("tokens", &tokens)]).unwrap().get("logits").unwrap().to_f64_vec();
        let mut state = next.init(1).unwrap();
        for at in 0..5 {
            let tokens = HostArray::from_f64(I32, &[2], &[texts[0][at], texts[1][at]]).unwrap();
            let position = HostArray::from_f64(I32, &[], &[at as f64]).unwrap();
            let metrics = next.run(&mut state, &[("tokens", &tokens), ("position", &position)]).unwrap();
            let have = metrics.get("logits").unwrap().to_f64_vec();
            for text in 0..2 {
                let (have, want) = (&have[12 * text..][..12], &want[12 * (5 * text + at)..][..12]);
                assert!(
                    have.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5),
                    "{at}: {have:?}, not {want:?}"
                );
            }
        }
    }
}

/// Missing tokens are not attended to: a text may begin after a gap, and continues at the next position. Rewriting an earlier position
/// drops the later tokens.
#[test]
fn a_text_begins_at_any_position() {
    let Some(client) = client().unwrap() else { return };
    let decoder = Decoder::llama(12, 16, 20, 2, 4, 2);
    let whole = |time: i64| {
        let g = Graph::new("step", &one());
        let p = Scope::new(&g);
        let tokens = g.parameter("tokens", [1, time], I32);
        let step = p.finish(&[("logits", decoder.apply(&p, tokens, None).slice(1, -1..))]).unwrap();
        Step::single(&client, step).unwrap()
    };
    let wholes = [1, 2, 3].map(whole);
    let next = {
        let g = Graph::new("step", &one());
        let p = Scope::new(&g);
        let logits = decoder.next(&p, g.parameter("tokens", [1], I32), g.parameter("position", (), I32), 6);
        Step::single(&client, p.finish(&[("logits", logits)]).unwrap()).unwrap()
    };
    let mut state = next.init(1).unwrap();
    let weights = state.clone();
    let mut logits_at = |token: i32, position: i32| {
        let (token, position) =
            (HostArray::from_slice(&[token], &[1]), HostArray::from_slice(&[position], &[]));
        let inputs = [("tokens", &token.unwrap()), ("position", &position.unwrap())];
        next.run(&mut state, &inputs).unwrap().get("logits").unwrap().to_f64_vec()
    };
    // A token, its position, and the tokens that it attends to. Positions are relative.
    let cases: [(i32, i32, &[i32]); 7] = [
        (3, 2, &[3]),
        (7, 3, &[3, 7]),
        (1, 4, &[3, 7, 1]),
        (9, 3, &[3, 9]),
        (5, 0, &[5]),
        (2, 1, &[5, 2]),
        (4, 4, &[4]),
    ];
    for (token, position, seen) in cases {
        let step = &wholes[seen.len() - 1];
        let tokens = HostArray::from_slice(seen, &[1, seen.len()]).unwrap();
        let mut state = step.adopt(&weights).unwrap();
        let want = step.run(&mut state, &[("tokens", &tokens)]).unwrap().get("logits").unwrap().to_f64_vec();
        let have = logits_at(token, position);
        let off = have.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-5, "{token} at {position} is off by {off}");
    }
    for position in [6, -1] {
        assert!(logits_at(3, position).iter().all(|number| number.is_nan()), "{position}");
    }
    assert!(logits_at(3, 0).iter().all(|number| number.is_finite()));
}
