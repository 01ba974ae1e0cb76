//! Suggests a mesh for a different number of devices.

use shardc::ir::Mesh;

/// The hint for a program whose `mesh` does not have `devices` devices.
pub(crate) fn hint(mesh: &Mesh, devices: usize) -> Option<String> {
    if devices == 0 || mesh.axes.is_empty() {
        return None;
    }
    let mut axes: Vec<(&str, usize)> =
        mesh.axes.iter().map(|(name, &size)| (&**name, size as usize)).collect();
    fit(&mut axes, devices);
    let fitting: Vec<String> = axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    Some(format!("for {devices} devices, partition with `--mesh {}`", fitting.join(",")))
}

/// Changes sizes until their product is `devices`. If one axis suffices, only the first such axis changes. Otherwise `devices` is divided
/// among the axes, minor axis first: each axis gets the greatest common divisor of its size and the remaining quotient. Finally, the major
/// axis is multiplied by the last quotient.
fn fit(axes: &mut [(&str, usize)], devices: usize) {
    for i in 0..axes.len() {
        let others = axes.iter().enumerate().filter(|(j, _)| *j != i);
        let others = others.fold(1usize, |product, (_, (_, size))| product.saturating_mul(*size));
        if others > 0 && devices.is_multiple_of(others) {
            axes[i].1 = devices / others;
            return;
        }
    }
    let mut left = devices;
    for (_, size) in axes.iter_mut().rev() {
        *size = gcd(*size, left).max(1);
        left /= *size;
    }
    if let Some((_, size)) = axes.first_mut() {
        *size = size.saturating_mul(left);
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(sizes: &[usize], devices: usize) -> Vec<usize> {
        let mut axes: Vec<(&str, usize)> = sizes.iter().map(|&size| ("a", size)).collect();
        fit(&mut axes, devices);
        axes.into_iter().map(|(_, size)| size).collect()
    }

    #[test]
    fn few_axes_change_and_the_product_fits() {
        assert_eq!(fitted(&[4, 2], 4), [2, 2]);
        assert_eq!(fitted(&[4, 2], 16), [8, 2]);
        assert_eq!(fitted(&[4, 2], 1), [1, 1]);
        assert_eq!(fitted(&[2, 8], 4), [2, 2]);
        assert_eq!(fitted(&[8, 8], 4), [1, 4]);
        assert_eq!(fitted(&[4, 6], 9), [3, 3]);
        assert_eq!(fitted(&[65536, 4], 2048), [512, 4]);
        for devices in 1..50 {
            assert_eq!(fitted(&[3, 4, 2], devices).iter().product::<usize>(), devices);
        }
    }
}
