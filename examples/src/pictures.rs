//! Generated images in folders: a data set in ImageNet's layout that needs no download.
//!
//! Each class is a pattern in a color. The size, direction and shades of a pattern are random. The same seed produces the same images.

use std::path::Path;

use anyhow::Result;
use image::{Rgb, RgbImage};

use crate::digits::Random;

/// Height and width of an image in pixels, before cropping.
const SIDE: u32 = 80;

/// The brightness of a pattern at a point.
type Pattern = fn(f32, f32) -> f32;

const PATTERNS: [(&str, Pattern); 4] = [
    ("stripes", |x, _| if x.rem_euclid(1.0) < 0.5 { 1.0 } else { 0.3 }),
    ("checks", |x, y| if (x.rem_euclid(1.0) < 0.5) == (y.rem_euclid(1.0) < 0.5) { 1.0 } else { 0.3 }),
    ("dots", |x, y| if (x.rem_euclid(1.0) - 0.5).hypot(y.rem_euclid(1.0) - 0.5) < 0.3 { 1.0 } else { 0.3 }),
    ("clouds", |x, y| 0.65 + 0.2 * (2.0 * x).sin() + 0.15 * (3.0 * y + x).cos()),
];

const COLOURS: [(&str, [f32; 3]); 2] = [("red", [230.0, 90.0, 70.0]), ("blue", [80.0, 110.0, 230.0])];

/// Draws `of_each` images of each class into folders in `dir`.
///
/// # Errors
/// A file cannot be written.
pub fn draw(dir: &Path, of_each: usize, seed: u64) -> Result<()> {
    let mut random = Random(seed);
    for (pattern, brightness) in PATTERNS {
        for (colour, paint) in COLOURS {
            let folder = dir.join(format!("{colour}_{pattern}"));
            std::fs::create_dir_all(&folder)?;
            for i in 0..of_each {
                picture(brightness, paint, &mut random).save(folder.join(format!("{i:04}.jpg")))?;
            }
        }
    }
    Ok(())
}

fn picture(brightness: Pattern, paint: [f32; 3], random: &mut Random) -> RgbImage {
    let size = random.between(10.0, 18.0);
    let (sin, cos) = random.between(0.0, 3.1).sin_cos();
    let shade = random.between(0.7, 1.1);
    RgbImage::from_fn(SIDE, SIDE, |x, y| {
        let (x, y) = (x as f32 / size, y as f32 / size);
        let light = shade * brightness(x * cos + y * sin, y * cos - x * sin);
        Rgb(paint.map(|c| (c * light).min(255.0) as u8))
    })
}
