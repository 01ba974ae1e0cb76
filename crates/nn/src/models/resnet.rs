//! Residual networks of convolutions.

use shardc_graph::{Padding, Tensor};

use crate::layers::{BatchNorm, Conv, Dense};
use crate::{Init, Scope};

/// A residual network ("Deep Residual Learning for Image Recognition", He et al., 2016), with the steps of a bottleneck in its middle
/// convolution, as torchvision has it. Each block is a [`unit`](Scope::unit), and begins as what goes past it: the scale of its last
/// normalisation begins with zeros (Goyal et al., "Accurate, Large Minibatch SGD", 2017).
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
    /// Blocks of each stage; of each but the first, the first block halves the image.
    pub blocks: Vec<i64>,
    /// Features of the first stage; each stage has twice those of the one before.
    pub features: i64,
    /// Whether a block narrows the features to a quarter for its 3 x 3 convolution.
    pub is_bottleneck: bool,
    /// Whether images are small: nothing is halved before the first stage.
    pub has_small_images: bool,
    /// How many classes.
    pub num_classes: i64,
    /// How images are normalised between convolutions.
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

    /// Eighteen layers, in blocks of two.
    #[must_use]
    pub fn resnet18(num_classes: i64) -> Self {
        ResNet::new(&[2, 2, 2, 2], false, num_classes)
    }

    /// Fifty layers, in blocks of three.
    #[must_use]
    pub fn resnet50(num_classes: i64) -> Self {
        ResNet::new(&[3, 4, 6, 3], true, num_classes)
    }

    /// For images of few points: nothing is halved before the first stage.
    #[must_use]
    pub fn small_images(self) -> Self {
        ResNet { has_small_images: true, ..self }
    }

    /// With these blocks of each stage, and features of the first.
    #[must_use]
    pub fn sizes(self, blocks: &[i64], features: i64) -> Self {
        ResNet { blocks: blocks.to_vec(), features, ..self }
    }

    /// The logits of the classes of images, `[batch, height, width, channels]`: `[batch, num_classes]`. `train` is as for
    /// [`BatchNorm::apply`].
    ///
    /// Reported: images have another rank.
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
    /// A convolution, which goes over the edges by half of its window, and a normalisation.
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

    /// The last convolution of a block, whose part is nothing at first.
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
