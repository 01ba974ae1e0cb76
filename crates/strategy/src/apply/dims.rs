//! Chooses the dimension of a tensor to shard.

/// Chooses the dimension to shard over `n` devices: the largest allowed dimension that `n` divides; otherwise the largest allowed dimension
/// with at least one element per device. `None` if there is none.
pub(crate) fn split_dim(shape: &[i64], n: i64, may: impl Fn(usize) -> bool) -> Option<usize> {
    let largest = |fits: &dyn Fn(i64) -> bool| {
        let dims = (0..shape.len()).filter(|&d| may(d) && fits(shape[d]));
        dims.max_by_key(|&d| (shape[d], std::cmp::Reverse(d)))
    };
    if n <= 1 {
        return None;
    }
    largest(&|size| size > 0 && size % n == 0).or_else(|| largest(&|size| size.div_euclid(n) >= 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_divisible_dimension_is_sharded() {
        let any = |_: usize| true;
        assert_eq!(split_dim(&[64, 128], 8, any), Some(1));
        assert_eq!(split_dim(&[64, 64], 8, any), Some(0));
        assert_eq!(split_dim(&[50257, 768], 8, any), Some(1));
        assert_eq!(split_dim(&[50257, 7], 8, any), Some(0), "uneven, rather than whole");
        assert_eq!(split_dim(&[3, 7], 8, any), None, "some devices would have none");
        assert_eq!(split_dim(&[32, 64], 8, |d| d != 1), Some(0));
        assert_eq!(split_dim(&[32, 64], 1, any), None);
    }
}
