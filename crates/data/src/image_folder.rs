//! Folders with one subfolder of images per class: the format of ImageNet and of torchvision's `ImageFolder`.
//!
//! `DIR/CLASS/FILE.jpg`: classes are numbered in the order of their names, and examples are sorted by class and name. Files without a JPEG
//! or PNG extension are ignored.

use std::path::{Path, PathBuf};

use image::imageops::FilterType;
use image::{DynamicImage, ImageReader, RgbImage, imageops};

use crate::shuffle::Random;

/// File name extensions of images.
const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// The maximum number of random crops that are tried. If no crop fits the image, the central square is used.
const TRIES: usize = 10;

/// A folder with one subfolder of images per class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFolder {
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The files, each with the index of its class.
    pub examples: Vec<(PathBuf, usize)>,
}

/// An error in reading a folder or an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageFolderError {
    /// A folder or file cannot be opened.
    #[error("error[SH1101]: {path}: {source}")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not an image, or is truncated.
    #[error("error[SH1103]: {path}: {source}")]
    Image {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: image::ImageError,
    },
    /// The folder has no images.
    #[error("error[SH1104]: {path}: no subfolder contains images")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

/// The crop of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Center crop for evaluation. The shorter side of the image is first resized to eight sevenths of the crop.
    Middle,
    /// Random resized crop for training: 8 to 100 percent of the area, aspect ratio 3/4 to 4/3, flipped horizontally half of the time
    /// (Szegedy et al., "Going Deeper with Convolutions", 2015). The number is the seed.
    Random(u64),
}

impl ImageFolder {
    /// Lists the images of a folder.
    ///
    /// # Errors
    /// The folder cannot be read (SH1101), or has no images (SH1104).
    pub fn open(dir: &Path) -> Result<ImageFolder, ImageFolderError> {
        let mut folder = ImageFolder { classes: Vec::new(), examples: Vec::new() };
        for class in sorted(dir)?.into_iter().filter(|path| path.is_dir()) {
            let number = folder.classes.len();
            let images = sorted(&class)?.into_iter().filter(|path| is_image(path));
            folder.examples.extend(images.map(|path| (path, number)));
            folder.classes.push(class.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        if folder.examples.is_empty() {
            return Err(ImageFolderError::Empty { path: dir.to_owned() });
        }
        Ok(folder)
    }

    /// Returns the number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// Returns whether the folder has no examples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// Returns example `i` as a square image: `[side, side, 3]` bytes, in RGB order.
    ///
    /// # Errors
    /// The file cannot be read (SH1101), or is not an image (SH1103).
    pub fn example(&self, i: usize, side: u32, cut: Cut) -> Result<Vec<u8>, ImageFolderError> {
        let path = &self.examples[i].0;
        let reader = ImageReader::open(path).and_then(ImageReader::with_guessed_format);
        let reader = reader.map_err(|source| ImageFolderError::Io { path: path.clone(), source })?;
        let image =
            reader.decode().map_err(|source| ImageFolderError::Image { path: path.clone(), source })?;
        Ok(square(&image, side, cut).into_raw())
    }
}

/// Returns the entries of a folder, sorted by name.
fn sorted(dir: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let failed = |source| ImageFolderError::Io { path: dir.to_owned(), source };
    let entries = std::fs::read_dir(dir).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

fn is_image(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// Crops an image, and resizes it to a square.
fn square(image: &DynamicImage, side: u32, cut: Cut) -> RgbImage {
    let (width, height) = (image.width().max(1), image.height().max(1));
    match cut {
        Cut::Middle => {
            let scale = f64::from(side) * 8.0 / 7.0 / f64::from(width.min(height));
            let scaled = |n: u32| ((f64::from(n) * scale).round() as u32).max(side);
            let resized = image.resize_exact(scaled(width), scaled(height), FilterType::Triangle);
            let (x, y) = ((resized.width() - side) / 2, (resized.height() - side) / 2);
            resized.crop_imm(x, y, side, side).to_rgb8()
        }
        Cut::Random(number) => {
            let mut random = Random(number);
            let (x, y, w, h) = random_part(width, height, &mut random);
            let part = image.crop_imm(x, y, w, h).resize_exact(side, side, FilterType::Triangle).to_rgb8();
            if random.bits() & 1 == 1 { imageops::flip_horizontal(&part) } else { part }
        }
    }
}

/// Returns a random crop of an image of this size: the origin and the size of the crop.
fn random_part(width: u32, height: u32, random: &mut Random) -> (u32, u32, u32, u32) {
    let area = f64::from(width) * f64::from(height);
    for _ in 0..TRIES {
        let part = area * random.between(0.08, 1.0);
        let ratio = random.between((0.75f64).ln(), (4.0f64 / 3.0).ln()).exp();
        let (w, h) = ((part * ratio).sqrt().round() as u32, (part / ratio).sqrt().round() as u32);
        if (1..=width).contains(&w) && (1..=height).contains(&h) {
            let place = |free: u32, random: &mut Random| (random.bits() % (u64::from(free) + 1)) as u32;
            let x = place(width - w, random);
            return (x, place(height - h, random), w, h);
        }
    }
    let side = width.min(height);
    ((width - side) / 2, (height - side) / 2, side, side)
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn classes_are_folders_and_images_are_cropped() {
        let dir = tempfile::tempdir().unwrap();
        for (class, names) in [("b", &["1.png", "0.PNG", "notes.txt"][..]), ("a", &["x.jpg"]), ("c", &[])] {
            let class = dir.path().join(class);
            std::fs::create_dir(&class).unwrap();
            for name in names {
                let path = class.join(name);
                if name.ends_with(".txt") {
                    std::fs::write(&path, "no image").unwrap();
                } else {
                    // The left half of the image is red, the right half blue.
                    let point = |x: u32, _| if x < 20 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
                    RgbImage::from_fn(40, 20, point).save(&path).unwrap();
                }
            }
        }
        let folder = ImageFolder::open(dir.path()).unwrap();
        assert_eq!(folder.classes, ["a", "b", "c"]);
        let names: Vec<(String, usize)> = folder
            .examples
            .iter()
            .map(|(path, class)| (path.file_name().unwrap().to_string_lossy().into_owned(), *class))
            .collect();
        let named = |name: &str, class| (name.to_owned(), class);
        assert_eq!(names, [named("x.jpg", 0), named("0.PNG", 1), named("1.png", 1)]);
        let middle = folder.example(1, 8, Cut::Middle).unwrap();
        assert_eq!(middle.len(), 8 * 8 * 3);
        assert!(middle[0] > 200 && middle[2] < 50 && middle[7 * 3] < 50 && middle[7 * 3 + 2] > 200);
        let random = |number| folder.example(2, 8, Cut::Random(number)).unwrap();
        assert_eq!(random(1), random(1));
        assert!((0..32).any(|number| random(number) != random(0)));
        std::fs::write(dir.path().join("a/y.png"), "no image").unwrap();
        let folder = ImageFolder::open(dir.path()).unwrap();
        assert!(folder.example(1, 8, Cut::Middle).unwrap_err().to_string().starts_with("error[SH1103]"));
        let nothing = ImageFolder::open(&dir.path().join("c")).unwrap_err();
        assert!(nothing.to_string().starts_with("error[SH1104]"), "{nothing}");
    }

    #[test]
    fn random_crops_are_inside_the_image() {
        let mut random = Random(5);
        let mut areas = 0.0;
        for _ in 0..1000 {
            let (x, y, w, h) = random_part(37, 90, &mut random);
            assert!(w > 0 && h > 0 && x + w <= 37 && y + h <= 90);
            areas += f64::from(w * h) / (37.0 * 90.0);
        }
        assert!((200.0..600.0).contains(&areas), "{areas}");
        assert_eq!(random_part(1000, 2, &mut random), (499, 0, 2, 2), "nothing fits but the middle");
    }
}
