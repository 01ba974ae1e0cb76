//! Mixed-radix digits of device positions, of which [tile assignments](super::tiles) consist.

/// A digit of a mixed-radix number: `size` positions with the given `stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digit {
    pub(crate) stride: i64,
    pub(crate) size: i64,
}

/// The digits of each dimension of a tile assignment, major to minor. No digit has size 1, and adjacent digits with contiguous strides are
/// merged.
pub(crate) type Digits = Vec<Vec<Digit>>;

/// Returns the strides of a row-major array.
pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

/// Returns all numbers that the digits represent, in the order of a counter; the last digit varies fastest.
pub(crate) fn positions(digits: &[Digit]) -> Vec<i64> {
    let mut out = vec![0];
    for digit in digits.iter().filter(|digit| digit.size != 1) {
        let before = std::mem::take(&mut out);
        out.reserve(before.len().saturating_mul(usize::try_from(digit.size).unwrap_or(0)));
        for base in before {
            out.extend((0..digit.size).map(|i| base + i * digit.stride));
        }
    }
    out
}

/// Appends a digit, or merges it into the last digit if their strides are contiguous.
pub(crate) fn push(digits: &mut Vec<Digit>, digit: Digit) {
    if digit.size == 1 {
        return;
    }
    match digits.last_mut() {
        Some(last) if last.stride == digit.stride * digit.size => {
            *last = Digit { stride: digit.stride, size: last.size * digit.size };
        }
        _ => digits.push(digit),
    }
}

/// Returns the digits of an iota of shape `reshape` that is transposed by `perm` and reshaped to `dims`. Returns
/// `None` if a dimension boundary splits a digit unevenly. The time is linear in the number of dimensions, not of devices.
pub(crate) fn iota_digits(dims: &[i64], reshape: &[i64], perm: &[usize]) -> Option<Digits> {
    let strides = row_major(reshape);
    // A stack of digits from major to minor. The top is the rest of the digit that is being split. `[8]<=[2,4]T(1,0)` is
    // 0,4,1,5,2,6,3,7: the minor digit has size 2 and stride 4, the major digit size 4 and stride 1.
    let mut rest: Vec<Digit> = perm
        .iter()
        .map(|&d| Some(Digit { size: *reshape.get(d)?, stride: *strides.get(d)? }))
        .collect::<Option<_>>()?;
    let mut out: Digits = vec![Vec::new(); dims.len()];
    for (dim, &size) in dims.iter().enumerate().rev() {
        let mut minor_first = Vec::new();
        let mut left = size;
        while left > 1 {
            let digit = rest.pop()?;
            if digit.size == 1 {
                continue;
            }
            if left % digit.size == 0 {
                minor_first.push(digit);
                left /= digit.size;
            // The dimension ends inside the digit, and takes its minor part. The major part is left for the next
            // dimension.
            } else if digit.size % left == 0 {
                minor_first.push(Digit { size: left, stride: digit.stride });
                rest.push(Digit { size: digit.size / left, stride: digit.stride * left });
                left = 1;
            } else {
                return None;
            }
        }
        for digit in minor_first.into_iter().rev() {
            push(&mut out[dim], digit);
        }
    }
    rest.iter().all(|digit| digit.size == 1).then_some(out)
}

/// Returns the digits of each dimension of `dims`, for an explicit list of positions. The order within the last `subgroups` dimensions is
/// ignored.
pub(crate) fn list_digits(dims: &[i64], mut list: Vec<i64>, subgroups: usize) -> Option<Digits> {
    let sizes: Vec<usize> = dims.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
    if sizes.iter().product::<usize>() != list.len() {
        return None;
    }
    if subgroups > 0
        && let Some(&size) = sizes.last().filter(|&&n| n > 0)
    {
        // Devices that hold the same tile have no order, and hand-written text may list them in any order.
        list.chunks_mut(size).for_each(<[i64]>::sort_unstable);
    }
    let strides = row_major(dims);
    let mut order: Vec<Vec<usize>> = sizes.iter().map(|&n| (0..n).collect()).collect();
    // The other subgroup dimensions have no order either: the indices of each dimension are sorted by their first devices. If any order of
    // the indices makes the list a sequence of digits, the sorted order does.
    for dim in dims.len().saturating_sub(subgroups)..dims.len().saturating_sub(1) {
        order[dim].sort_unstable_by_key(|&i| list.get(i * strides[dim] as usize).copied());
    }
    let first: usize =
        order.iter().zip(&strides).map(|(o, &s)| o.first().map_or(0, |i| i * s as usize)).sum();
    // Digits start at 0, so the first device must have position 0.
    if list.get(first) != Some(&0) {
        return None;
    }
    let mut out = Digits::with_capacity(dims.len());
    for (dim, &size) in sizes.iter().enumerate() {
        // The digits of each dimension are read only along the line through position 0, so that the time is linear. The entire list is
        // checked once at the end.
        let along = |i: usize| -> Option<i64> {
            let start = order[dim].first()? * strides[dim] as usize;
            list.get(first - start + order[dim].get(i)? * strides[dim] as usize).copied()
        };
        let mut minor_first: Vec<Digit> = Vec::new();
        let mut done = 1;
        while done < size {
            let stride = along(done)?;
            let mut next = 2;
            while done * next < size && along(done * next)? == stride * next as i64 {
                next += 1;
            }
            // A digit is a run of positions with equal steps, and its size must divide the rest of the dimension. A run that reaches
            // the end of the dimension is the last digit; the check below rejects it if `done` does not divide `size`.
            let run = if done * next >= size { size / done } else { next };
            if size % (done * run) != 0 || stride <= 0 {
                return None;
            }
            minor_first.push(Digit { stride, size: run as i64 });
            done *= run;
        }
        let mut digits = Vec::new();
        for digit in minor_first.into_iter().rev() {
            push(&mut digits, digit);
        }
        out.push(digits);
    }
    // The digits are correct if they represent the entire list in order.
    let flat: Vec<Digit> = out.iter().flatten().copied().collect();
    let mut places = vec![0usize];
    for dim in (0..dims.len()).filter(|&dim| dims[dim] != 1) {
        let before = std::mem::take(&mut places);
        places = before
            .into_iter()
            .flat_map(|base| order[dim].iter().map(move |i| (base, *i)))
            .map(|(base, i)| base + i * strides[dim] as usize)
            .collect();
    }
    let wanted = positions(&flat);
    let same = wanted.len() == places.len()
        && places.iter().zip(&wanted).all(|(&place, want)| list.get(place) == Some(want));
    same.then_some(out)
}
