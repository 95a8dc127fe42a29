// The table of all experiments.
#include "tools/lab/experiment.h"

namespace prenorm::tools {
namespace {

const Experiment kExperiments[] = {
    {"invariance",
     "LayerNorm ignores scale and shift of its input, RMSNorm only the scale; a fixed eps ends that for small inputs.",
     "Ba, Kiros and Hinton 2016, section 5.1; Zhang and Sennrich 2019, table 1",
     "Largest change of an output over 16 rows of 1024 when the input, or the weights before it, change.",
     JudgeInvariance, MeasureInvariance},
    {"accumulation", "Sums of squares in bf16 spoil a norm as rows grow long; wider accumulators do not.",
     "Common practice of mixed precision: Micikevicius et al. 2018, section 3.3",
     "Largest relative error of 1 / RMS over 8 rows of bf16 values, against f64.", JudgeAccumulation,
     MeasureAccumulation},
    {"groups", "GroupNorm is LayerNorm with one group and InstanceNorm with as many groups as channels.",
     "Wu and He 2018, section 3.1",
     "Root mean square distance of GroupNorm of a map [4, 32, 64] from LayerNorm of whole samples and of single "
     "channels.",
     JudgeGroups, MeasureGroups},
    {"batch-norm",
     "BatchNorm's statistics are noise of about 1/sqrt(batch): training and eval differ, and a sample changes the "
     "others.",
     "Ioffe and Szegedy 2015, section 3.1; Ioffe 2017, section 3",
     "Root mean square over 8 batches of 64 channels; errors in units of the population's deviation and variance; one "
     "sample moved by 4 deviations.",
     JudgeBatchNorm, MeasureBatchNorm},
    {"running-statistics",
     "Running statistics hold (1 - momentum)^n of their start after n batches, its square where each batch counts "
     "twice.",
     "Ioffe and Szegedy 2015, section 3.1, with torch's momentum of 0.1",
     "Share of the start value 0 in the running mean of 16 channels whose mean is 5, batches of 64.",
     JudgeRunningStatistics, MeasureRunningStatistics},
    {"batch-norm-dropout",
     "Dropout in front of BatchNorm raises the running variance by 1 / kept, so outputs are too small once nothing is "
     "dropped.",
     "Li et al. 2018, section 3 (variance shift)",
     "32 channels of mean 0 and variance 1, 32 batches of 64 behind dropout, then eval without it.",
     JudgeBatchNormDropout, MeasureBatchNormDropout},
    {"batch-norm-shards",
     "Workers that normalize their share of a batch by themselves have the noise of small batches; merged statistics "
     "are those of the whole batch.",
     "Peng et al. 2018, section 3.2; Chan, Golub and LeVeque 1979 for merging",
     "Root mean square distance from BatchNorm of the whole batch of 128, 32 channels; unshuffled: the mean moves by a "
     "fortieth of a deviation from sample to sample.",
     JudgeBatchNormShards, MeasureBatchNormShards},
    {"batch-norm-folding",
     "A frozen BatchNorm folds into the matrix before or behind it at no cost in accuracy, whatever type stores it.",
     "Common practice of inference engines; Jacob et al. 2018, section 3.2",
     "Relative error of the output; matrices [512, 256] before and [256, 512] behind, channels whose deviations differ "
     "by a factor of e; 1.2 times the error counts as no cost.",
     JudgeBatchNormFolding, MeasureBatchNormFolding},
    {"backward", "Both correction terms of LayerNorm's gradient matter: without either the gradient is wrong.",
     "Xu et al. 2019, section 3",
     "Relative error of dx, against f64, for the loss |y - target|^2 / 2 with targets of mean 0.5.", JudgeBackward,
     MeasureBackward},
    {"gain-folding", "A norm's gain folds into the next matrix at no cost in accuracy, whatever type stores it.",
     "Common practice of inference engines",
     "Relative error of a product [64, 512], gains of 0.8 to 1.2 (even), every 64th of them 20 (uneven); 1.2 times the "
     "error counts as no cost.",
     JudgeGainFolding, MeasureGainFolding},
    {"depth-variance",
     "At initialization a plain residual stream grows exponentially with depth, behind LayerNorm or BatchNorm "
     "linearly; Fixup, SkipInit and LayerScale bound it.",
     "De and Smith 2020, section 2; Zhang, Dauphin and Ma 2019 (Fixup); Touvron et al. 2021 (LayerScale)",
     "Mean square of the stream over that of the input; up to 64 blocks of m = 2 (or 3) matrices [64, 64] and ReLUs, "
     "16 tokens; "
     "Fixup's scale L^(-1/(2m-2)) with the last matrix not zero, SkipInit's alpha 0, LayerScale's lambda 1e-5.",
     JudgeDepthVariance, MeasureDepthVariance},
    {"gradient-depth",
     "At initialization the gradient grows with depth in a post-LN network, and hardly in a pre-LN one, whose last "
     "block's falls as 1/sqrt(depth).",
     "Xiong et al. 2020, section 3.3, theorem 1",
     "Norm of the gradient by all weights, by those of the first and of the last block; transformers of width 64 with "
     "16 tokens, equal attention, Xavier weights and a random gradient of the output; geometric mean of 8.",
     JudgeGradientDepth, MeasureGradientDepth},
    {"deep-norm",
     "With alpha = (2L)^(1/4) and beta = (8L)^(-1/4) the first step of training moves the output alike at any depth, "
     "to 1000 blocks.",
     "Wang et al. 2022 (DeepNet), sections 3 and 4",
     "One network as in gradient-depth, of width 32: gradient of the first block over the last's, of all weights, and "
     "how far a step of 0.001 times the gradient moves the output, as a share of it.",
     JudgeDeepNorm, MeasureDeepNorm},
    {"initialization",
     "Activations of a ReLU perceptron die out with depth under default and Xavier weights and last under He's; with "
     "LayerNorm or BatchNorm they last under any.",
     "He et al. 2015, section 2.2; Ioffe and Szegedy 2015, section 3.3",
     "Mean square of the activations behind up to 32 layers of width 64, 16 samples.", JudgeInitialization,
     MeasureInitialization},
    {"stream-depth",
     "The residual stream of a trained pre-norm model grows with depth, so that later blocks change it less.",
     "Xiong et al. 2020, section 3.3; Sun et al. 2025 (The Curse of Depth), section 3",
     "Geometric means over 48 tokens: variance of the stream in front of each block, and the size of what attention, "
     "the feed-forward part and both add over that of the stream.",
     JudgeStreamDepth, nullptr, MeasureStreamDepth},
    {"final-norm", "A pre-norm model needs its final norm: without it logits have another scale.",
     "Xiong et al. 2020, section 3.2",
     "Deviation of a token's logits, share of 48 tokens with the same most likely next one, mean KL divergence (nats).",
     JudgeFinalNorm, nullptr, MeasureFinalNorm},
    {"eps", "Weights must be run with the eps, and the place of it, that they were trained with.",
     "Common practice of porting; Zhang and Sennrich 2019 leave eps out",
     "Over 48 tokens: root mean square change of the log-probabilities over their deviation, mean KL divergence "
     "(nats), same most likely token; 'its own' has sums in f64 instead of f32 lanes, so what rounding does.",
     JudgeEps, nullptr, MeasureEps},
    {"centring", "RMSNorm can leave the mean out because rows of trained models hardly have one.",
     "Zhang and Sennrich 2019, section 3.1; Gupta et al. 2024",
     "Mean over 48 tokens of |mean| / RMS of the rows that each norm sees, and the KL divergence (nats) when that norm "
     "alone, or all, become LayerNorm (RMSNorm where the model has LayerNorm).",
     JudgeCentring, nullptr, MeasureCentring},
    {"norm-time", "RMSNorm saves 7 to 64 % of the time.", "Zhang and Sennrich 2019, abstract",
     "Medians by turns: one row in the cache by one thread, and a whole token of a model with either norm.",
     JudgeNormTime, nullptr, MeasureNormTime, true},
};

}  // namespace

std::span<const Experiment> Experiments() { return kExperiments; }

}  // namespace prenorm::tools
