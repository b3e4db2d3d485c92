//! A criterion measurement whose value is a ratio: how many times what stands beside it something takes. Both run in
//! turns, once for each iteration, so that a machine that is busy for a while is busy for both.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, SamplingMode, Throughput};

/// Runs something once and says how long it took, without what had to be prepared for it.
pub(crate) type Run<'a> = &'a dyn Fn() -> Duration;

/// The least that two things took, which ran in turns.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    /// What stands beside it.
    pub(crate) beside: Duration,
    /// What is measured.
    pub(crate) time: Duration,
}

impl Pair {
    pub(crate) fn times(self) -> f64 {
        ratio(self.time, self.beside)
    }
}

pub(crate) fn ratio(time: Duration, beside: Duration) -> f64 {
    time.as_secs_f64() / beside.as_secs_f64()
}

/// All that was measured.
pub(crate) struct Measurements {
    criterion: Criterion<Times>,
    pairs: BTreeMap<(String, String), Pair>,
}

impl Measurements {
    pub(crate) fn new() -> Self {
        // The ratios of one run are alike; what differs is the machine's mood, and for that there are the baselines.
        let criterion = Criterion::default()
            .with_measurement(Times)
            .sample_size(10)
            .nresamples(10_000)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(1_500))
            .configure_from_args();
        Self {
            criterion,
            pairs: BTreeMap::new(),
        }
    }

    /// Measures something beside something else, if the command line does not leave it out.
    pub(crate) fn run(&mut self, group: &str, name: &str, beside: Run<'_>, run: Run<'_>) {
        let mut least = Pair {
            beside: Duration::MAX,
            time: Duration::MAX,
        };
        let mut series = self.criterion.benchmark_group(group);
        series
            .sampling_mode(SamplingMode::Flat)
            .bench_function(name, |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut sum = 0.0;
                    for _ in 0..iterations {
                        let pair = Pair {
                            beside: beside(),
                            time: run(),
                        };
                        least.beside = least.beside.min(pair.beside);
                        least.time = least.time.min(pair.time);
                        sum += pair.times();
                    }
                    sum
                });
            });
        series.finish();
        if least.time < Duration::MAX {
            self.pairs
                .insert((group.to_owned(), name.to_owned()), least);
        }
    }

    pub(crate) fn get(&self, group: &str, name: &str) -> Option<Pair> {
        self.pairs
            .get(&(group.to_owned(), name.to_owned()))
            .copied()
    }
}

/// How long something takes.
pub(crate) fn timed(run: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

/// Values are ratios.
pub(crate) struct Times;

impl Measurement for Times {
    type Intermediate = ();
    type Value = f64;

    // These two are for `Bencher::iter`, which is not used.
    fn start(&self) {}

    fn end(&self, (): ()) -> f64 {
        0.0
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Self
    }
}

impl ValueFormatter for Times {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "times"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "times"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "times"
    }
}
