//! Infers layers if parameters have no names: finds the repeating run of shapes that covers most parameters.

/// A run of shapes: from `start`, the same `period` shapes, `times` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    start: usize,
    period: usize,
    times: usize,
}

impl Run {
    /// Returns the layer of the parameter at a position, and its position within the layer.
    pub(super) fn place(self, place: usize) -> Option<(usize, usize)> {
        let from = place.checked_sub(self.start)?;
        let layer = from / self.period;
        (layer < self.times).then_some((layer, from % self.period))
    }
}

/// The maximum number of shapes to examine: the search is quadratic.
const MOST: usize = 4096;

/// Returns the run that covers most parameters; on ties, the run with the shortest period. A layer has more than one parameter.
pub(super) fn longest(shapes: &[&[i64]]) -> Option<Run> {
    let shapes = shapes.get(..shapes.len().min(MOST))?;
    let mut best: Option<Run> = None;
    for period in 2..=shapes.len() / 2 {
        // `alike` counts consecutive shapes that equal the shape one period earlier.
        let mut alike = 0;
        for end in period..=shapes.len() {
            if end < shapes.len() && shapes[end] == shapes[end - period] {
                alike += 1;
                continue;
            }
            let times = alike / period + 1;
            let covers = |run: &Run| run.times * run.period;
            let run = Run { start: end - alike - period, period, times };
            if times > 1 && best.is_none_or(|best| covers(&run) > covers(&best)) {
                best = Some(run);
            }
            alike = 0;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_repeated_shapes() {
        let (e, w, v, h) = (&[100, 8][..], &[8, 8][..], &[8][..], &[8, 100][..]);
        let run = longest(&[e, v, w, w, v, w, w, v, w, w, h]).unwrap();
        assert_eq!(run, Run { start: 1, period: 3, times: 3 });
        let places = [0, 1, 3, 5, 9, 10].map(|place| run.place(place));
        assert_eq!(places, [None, Some((0, 0)), Some((0, 2)), Some((1, 1)), Some((2, 2)), None]);
        assert_eq!(longest(&[e, w, v, h]), None);
        assert_eq!(longest(&[w, v]), None);
        assert_eq!(longest(&[]), None);
    }
}
