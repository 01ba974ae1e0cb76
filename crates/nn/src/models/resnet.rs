//! Convolutional residual networks.

use shardc_graph::{Padding, Tensor};

use crate::layers::{BatchNorm, Conv, Dense};
use crate::{Init, Scope};

/// A residual network ("Deep Residual Learning for Image Recognition", He et al., 2016). The 3 x 3 convolution of a bottleneck has the
/// stride, as in torchvision. Each block is a [`unit`](Scope::unit) and initially the identity: the scale of its last normalization is
/// initialized with zeros (Goyal et al., "Accurate, Large Minibatch SGD", 2017).
///
/// | here | torchvision |
/// |---|---|
/// | `conv1.kernel` | `conv1.weight`, transposed |
/// | `bn1.scale` (`.bias`, `.mean`, `.var`) | `bn1.weight` (`.bias`, `.running_mean`, `.running_var`) |
/// | `layer1.0.conv1`, `layer1.0.bn1` | `layer1.0.conv1`, `layer1.0.bn1` |
/// | `layer1.0.downsample.conv`, `.bn` | `layer1.0.downsample.0`, `.1` |
/// | `fc` | `fc` |
#[derive(Clone, Debug, PartialEq)]
pub struct ResNet {
    /// Blocks per stage. The first block of each stage after the first stage halves the image size.
    pub blocks: Vec<i64>,
    /// Features of the first stage; each stage has twice as many as the previous one.
    pub features: i64,
    /// Whether blocks are bottlenecks, whose 3 x 3 convolution has a quarter of the block's output features.
    pub is_bottleneck: bool,
    /// Whether images are small: no downsampling before the first stage.
    pub has_small_images: bool,
    /// Number of classes.
    pub num_classes: i64,
    /// The normalization after convolutions.
    pub norm: BatchNorm,
}

impl ResNet {
    fn new(blocks: &[i64], is_bottleneck: bool, num_classes: i64) -> Self {
        ResNet {
            blocks: blocks.to_vec(),
            features: 64,
            is_bottleneck,
            has_small_images: false,
            num_classes,
            norm: BatchNorm::new().momentum(0.9),
        }
    }

    /// ResNet-18, with blocks of two convolutions.
    #[must_use]
    pub fn resnet18(num_classes: i64) -> Self {
        ResNet::new(&[2, 2, 2, 2], false, num_classes)
    }

    /// ResNet-50, with blocks of three convolutions.
    #[must_use]
    pub fn resnet50(num_classes: i64) -> Self {
        ResNet::new(&[3, 4, 6, 3], true, num_classes)
    }

    /// Sets that images are small: no downsampling before the first stage.
    #[must_use]
    pub fn small_images(self) -> Self {
        ResNet { has_small_images: true, ..self }
    }

    /// Sets the number of blocks per stage, and the features of the first stage.
    #[must_use]
    pub fn sizes(self, blocks: &[i64], features: i64) -> Self {
        ResNet { blocks: blocks.to_vec(), features, ..self }
    }

    /// Returns the class logits, `[batch, num_classes]`, of images, `[batch, height, width, channels]`. `train` is passed to
    /// [`BatchNorm::apply`].
    ///
    /// Reports an error if the images have the wrong rank.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, images: Tensor<'g>, train: bool) -> Tensor<'g> {
        let net = Net { model: self, train };
        let mut x = if self.has_small_images {
            net.conv(p, 1, images, self.features, 3, 1).relu()
        } else {
            let x = net.conv(p, 1, images, self.features, 7, 2).relu();
            x.max_pool(&[3, 3], &[2, 2], &Padding::Explicit(vec![(1, 1); 2]))
        };
        for (stage, &blocks) in self.blocks.iter().enumerate() {
            let features = self.features << stage;
            for block in 0..blocks {
                let stride = if block == 0 && stage > 0 { 2 } else { 1 };
                let name = format!("layer{}.{block}", stage + 1);
                let block = || p.unit(name, x, |p, x| net.block(p, x, features, stride));
                x = p.graph().track_caller(block);
            }
        }
        Dense::new(self.num_classes).apply(&p.at("fc").output(), x.mean([1, 2]))
    }
}

struct Net<'a> {
    model: &'a ResNet,
    train: bool,
}

impl Net<'_> {
    /// Applies a convolution, padded by half its window, and a normalization.
    #[track_caller]
    fn conv<'g>(
        &self,
        p: &Scope<'g>,
        number: i64,
        x: Tensor<'g>,
        features: i64,
        size: i64,
        stride: i64,
    ) -> Tensor<'g> {
        let y = convolution(features, size, stride).apply(&p.at(format!("conv{number}")), x);
        self.model.norm.apply(&p.at(format!("bn{number}")), y, self.train)
    }

    /// Applies the last convolution of a block, whose normalization scale is initialized with zeros.
    #[track_caller]
    fn last<'g>(&self, p: &Scope<'g>, number: i64, x: Tensor<'g>, features: i64, size: i64) -> Tensor<'g> {
        let y = convolution(features, size, 1).apply(&p.at(format!("conv{number}")), x);
        let norm = self.model.norm.clone().scale_init(Init::zeros());
        norm.apply(&p.at(format!("bn{number}")), y, self.train)
    }

    #[track_caller]
    fn block<'g>(&self, p: &Scope<'g>, x: Tensor<'g>, features: i64, stride: i64) -> Tensor<'g> {
        let (y, wide) = if self.model.is_bottleneck {
            let y = self.conv(p, 1, x, features, 1, 1).relu();
            let y = self.conv(p, 2, y, features, 3, stride).relu();
            (self.last(p, 3, y, 4 * features, 1), 4 * features)
        } else {
            let y = self.conv(p, 1, x, features, 3, stride).relu();
            (self.last(p, 2, y, features, 3), features)
        };
        let beside = if stride == 1 && x.size(-1) == wide {
            x
        } else {
            let p = p.at("downsample");
            let x = convolution(wide, 1, stride).apply(&p.at("conv"), x);
            self.model.norm.apply(&p.at("bn"), x, self.train)
        };
        (y + beside).relu()
    }
}

fn convolution(features: i64, size: i64, stride: i64) -> Conv {
    let conv = Conv::new(features, &[size; 2]).strides(&[stride; 2]).use_bias(false);
    let conv = conv.padding(Padding::Explicit(vec![(size / 2, size / 2); 2]));
    Conv { kernel_init: Some(Init::he_normal()), ..conv }
}
