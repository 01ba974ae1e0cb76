//! The retention policy.

/// The retention policy, applied when a newer step is complete; all steps are kept if `newest` is not set. The newest step is always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The number of steps to keep: those with the highest step numbers, regardless of when they were saved.
    pub newest: Option<usize>,
    /// Steps that are multiples of this number are also kept.
    pub every: Option<u64>,
}

impl Keep {
    /// Returns the steps to delete; `steps` are the complete steps in ascending order.
    pub(super) fn expired(&self, steps: &[u64]) -> Vec<u64> {
        let Some(newest) = self.newest else { return Vec::new() };
        let old = steps.len().saturating_sub(newest.max(1));
        let is_kept = |step: &u64| self.every.is_some_and(|every| every > 0 && step.is_multiple_of(every));
        steps[..old].iter().copied().filter(|step| !is_kept(step)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_steps_and_every_nth_are_kept() {
        let steps = [0, 5, 10, 15, 20, 25];
        let expired = |newest, every| Keep { newest, every }.expired(&steps);
        assert_eq!(expired(None, None), Vec::<u64>::new());
        assert_eq!(expired(None, Some(10)), Vec::<u64>::new());
        assert_eq!(expired(Some(2), None), [0, 5, 10, 15]);
        assert_eq!(expired(Some(2), Some(10)), [5, 15]);
        assert_eq!(expired(Some(9), None), Vec::<u64>::new());
        assert_eq!(Keep { newest: Some(0), every: None }.expired(&steps), [0, 5, 10, 15, 20]);
        assert_eq!(Keep { newest: Some(1), every: None }.expired(&[]), Vec::<u64>::new());
    }
}
