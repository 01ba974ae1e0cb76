//! Generated digits: a data set like MNIST that needs no download.
//!
//! Each digit consists of a few strokes, which are rotated, sheared, scaled, moved and thickened at random, then drawn on 28 x 28 pixels
//! with soft edges and some noise. The same seed produces the same digits on every machine.

use shardc_train::data::idx::Idx;

/// Height and width in pixels.
pub const SIDE: usize = 28;

/// Strokes of each digit, as line segments in the unit square; the origin is the upper left corner.
const STROKES: [&[&[(f32, f32)]]; 10] = [
    &[&[
        (0.5, 0.0),
        (0.8, 0.12),
        (0.95, 0.5),
        (0.8, 0.88),
        (0.5, 1.0),
        (0.2, 0.88),
        (0.05, 0.5),
        (0.2, 0.12),
        (0.5, 0.0),
    ]],
    &[&[(0.3, 0.2), (0.55, 0.0), (0.55, 1.0)]],
    &[&[(0.1, 0.2), (0.3, 0.02), (0.7, 0.02), (0.9, 0.25), (0.75, 0.5), (0.1, 1.0), (0.95, 1.0)]],
    &[&[
        (0.1, 0.1),
        (0.5, 0.0),
        (0.85, 0.15),
        (0.8, 0.4),
        (0.45, 0.48),
        (0.85, 0.58),
        (0.9, 0.85),
        (0.5, 1.0),
        (0.08, 0.9),
    ]],
    &[&[(0.65, 1.0), (0.65, 0.0), (0.05, 0.65), (0.95, 0.65)]],
    &[&[(0.9, 0.0), (0.2, 0.0), (0.15, 0.45), (0.6, 0.4), (0.9, 0.6), (0.85, 0.88), (0.5, 1.0), (0.1, 0.9)]],
    &[&[
        (0.8, 0.05),
        (0.4, 0.15),
        (0.12, 0.55),
        (0.2, 0.9),
        (0.5, 1.0),
        (0.85, 0.88),
        (0.88, 0.62),
        (0.55, 0.5),
        (0.15, 0.65),
    ]],
    &[&[(0.05, 0.02), (0.95, 0.02), (0.4, 1.0)]],
    &[
        &[(0.5, 0.48), (0.2, 0.35), (0.22, 0.1), (0.5, 0.0), (0.78, 0.1), (0.8, 0.35), (0.5, 0.48)],
        &[(0.5, 0.48), (0.12, 0.65), (0.15, 0.9), (0.5, 1.0), (0.85, 0.9), (0.88, 0.65), (0.5, 0.48)],
    ],
    &[&[
        (0.85, 0.35),
        (0.5, 0.5),
        (0.15, 0.4),
        (0.12, 0.15),
        (0.45, 0.0),
        (0.8, 0.1),
        (0.85, 0.35),
        (0.8, 0.7),
        (0.6, 1.0),
    ]],
];

/// A random number generator (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let n = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.bits() >> 40) as f32 / (1u64 << 24) as f32)
    }
}

/// Images and labels of `count` digits, in the format of MNIST's files.
#[must_use]
pub fn draw(count: usize, seed: u64) -> (Idx, Idx) {
    let mut random = Random(seed);
    let (mut images, mut labels) = (Vec::with_capacity(count * SIDE * SIDE), Vec::with_capacity(count));
    for _ in 0..count {
        let digit = (random.bits() % 10) as usize;
        labels.push(digit as u8);
        images.extend(image(digit, &mut random));
    }
    (Idx { shape: vec![count, SIDE, SIDE], data: images }, Idx { shape: vec![count], data: labels })
}

fn image(digit: usize, random: &mut Random) -> Vec<u8> {
    let (sin, cos) = random.between(-0.25, 0.25).sin_cos();
    let shear = random.between(-0.25, 0.25);
    let (width, height) = (random.between(9.0, 14.0), random.between(16.0, 20.0));
    let (x0, y0) = (13.5 + random.between(-2.5, 2.5), 13.5 + random.between(-2.0, 2.0));
    let thickness = random.between(0.8, 1.7);
    let place = |(x, y): (f32, f32), random: &mut Random| {
        let (x, y) =
            ((x - 0.5) * width + random.between(-0.5, 0.5), (y - 0.5) * height + random.between(-0.5, 0.5));
        let x = x - shear * y;
        (x0 + cos * x - sin * y, y0 + sin * x + cos * y)
    };
    let strokes: Vec<Vec<(f32, f32)>> = STROKES[digit]
        .iter()
        .map(|stroke| stroke.iter().map(|&point| place(point, random)).collect())
        .collect();
    let mut out = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let at = (column as f32, row as f32);
            let lines = strokes.iter().flat_map(|stroke| stroke.windows(2));
            let distance = lines.map(|line| to_line(at, line[0], line[1])).fold(f32::MAX, f32::min);
            let ink = (thickness + 0.5 - distance).clamp(0.0, 1.0);
            let noise = random.between(-0.06, 0.06);
            out.push(((ink + noise).clamp(0.0, 1.0) * 255.0) as u8);
        }
    }
    out
}

/// The distance of a point from a line segment.
fn to_line(p: (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length } else { 0.0 };
    let along = along.clamp(0.0, 1.0);
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

/// A digit as text, two characters for each pixel.
#[must_use]
pub fn show(image: &[u8]) -> String {
    const INK: [&str; 5] = ["  ", "..", "++", "##", "@@"];
    let row = |row: &[u8]| row.iter().map(|&point| INK[usize::from(point) * 4 / 255]).collect::<String>();
    image.chunks(SIDE).map(|line| row(line).trim_end().to_owned() + "\n").collect()
}
