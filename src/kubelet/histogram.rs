//! How long something took, over many times: a Prometheus histogram or summary, read for what it proves.
//!
//! A histogram counts how many were at most so long, for some lengths, since its process started. What is between two of
//! them is not known, so that everything here is a bound; nothing is interpolated.

use std::fmt;

/// What is known of a length of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    /// It is more than so many seconds: longer than the largest bucket.
    Over(f64),
    About(f64),
}

impl Bound {
    pub fn seconds(self) -> f64 {
        match self {
            Self::AtMost(seconds) | Self::Over(seconds) | Self::About(seconds) => seconds,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::AtMost(_) => "≤ ",
            Self::Over(_) => "over ",
            Self::About(_) => "about ",
        };
        write!(f, "{word}{}", human(self.seconds()))
    }
}

/// A length of time for people: `5 ms`, `2.5 s`, `298 s`.
pub fn human(seconds: f64) -> String {
    let text = match seconds {
        s if s < 1.0 => return format!("{} ms", (s * 1e4).round() / 10.0),
        s if s < 100.0 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    };
    format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
}

/// Many lengths of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    pub count: f64,
    /// All of them together, in seconds.
    pub sum: f64,
    pub shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A histogram's buckets: an upper bound in seconds, and how many were at most that long; sorted, none infinite.
    Buckets(Vec<(f64, f64)>),
    /// A summary's quantiles (0 to 1) and their seconds, of the last ten minutes; sorted, without those that are not
    /// known.
    Quantiles(Vec<(f64, f64)>),
}

impl Quantiles {
    /// A histogram of raw buckets (bound, how many at most that long) in any order, the infinite one among
    /// them; `None` where it counts nothing.
    pub fn histogram(
        mut buckets: Vec<(f64, f64)>,
        sum: Option<f64>,
        count: Option<f64>,
    ) -> Option<Self> {
        buckets.retain(|(bound, number)| !bound.is_nan() && number.is_finite() && *number >= 0.0);
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        buckets.dedup_by(|b, a| a.0 == b.0);
        // Each bucket counts those before it, too; what claims otherwise is taken for its largest.
        let mut most = 0_f64;
        for (_, number) in &mut buckets {
            most = most.max(*number);
            *number = most;
        }
        let count = count.filter(|count| count.is_finite()).unwrap_or(0.0);
        buckets.retain(|(bound, _)| bound.is_finite());
        let count = count.max(most);
        (count > 0.0 && !buckets.is_empty()).then(|| Self {
            count,
            sum: sum.filter(|sum| sum.is_finite()).unwrap_or(0.0),
            shape: Shape::Buckets(buckets),
        })
    }

    /// A summary of raw quantiles in any order, with `unit` of its values to the second; `None` where it knows
    /// none: nothing happened of late.
    pub fn summary(
        mut quantiles: Vec<(f64, f64)>,
        unit: f64,
        sum: Option<f64>,
        count: Option<f64>,
    ) -> Option<Self> {
        quantiles.retain(|(quantile, value)| (0.0..=1.0).contains(quantile) && value.is_finite());
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = count.filter(|count| count.is_finite()).unwrap_or(0.0);
        let sum = sum.filter(|sum| sum.is_finite()).unwrap_or(0.0);
        for (_, value) in &mut quantiles {
            *value /= unit;
        }
        (!quantiles.is_empty()).then_some(Self {
            count,
            sum: sum / unit,
            shape: Shape::Quantiles(quantiles),
        })
    }

    /// What is known of the length that a share of `quantile` (0 to 1) does not exceed.
    pub fn quantile(&self, quantile: f64) -> Bound {
        match &self.shape {
            Shape::Buckets(buckets) => {
                let rank = (quantile * self.count).ceil().max(1.0);
                let holds = buckets.iter().find(|(_, number)| *number >= rank);
                let top = buckets.last().map_or(0.0, |(bound, _)| *bound);
                holds.map_or(Bound::Over(top), |(bound, _)| Bound::AtMost(*bound))
            }
            Shape::Quantiles(quantiles) => {
                let near = |at: &&(f64, f64)| at.0 >= quantile;
                let at = quantiles.iter().find(near).or(quantiles.last());
                Bound::About(at.map_or(0.0, |(_, value)| *value))
            }
        }
    }

    /// How many are proved to have taken longer than `seconds`; `None` of a summary, which does not show it.
    pub fn longer_than(&self, seconds: f64) -> Option<f64> {
        let Shape::Buckets(buckets) = &self.shape else {
            return None;
        };
        // Where there is no such bucket, the next larger one proves less, and the last one less still.
        let (_, within) = buckets.iter().find(|(bound, _)| *bound >= seconds)?;
        Some((self.count - within).max(0.0))
    }

    /// Whether it is of the last minutes alone, not of all the time since the process started.
    pub fn is_recent(&self) -> bool {
        matches!(self.shape, Shape::Quantiles(_))
    }

    /// The mean, in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[(f64, f64)]) -> Option<Quantiles> {
        Quantiles::histogram(buckets.to_vec(), Some(1.0), None)
    }

    #[test]
    fn a_quantile_is_at_most_its_buckets_bound() {
        let spread = histogram(&[
            (0.1, 98.0),
            (1.0, 99.0),
            (10.0, 99.0),
            (f64::INFINITY, 100.0),
        ]);
        let spread = spread.unwrap();
        assert_eq!(spread.quantile(0.5), Bound::AtMost(0.1));
        assert_eq!(spread.quantile(0.99), Bound::AtMost(1.0));
        assert_eq!(spread.quantile(1.0), Bound::Over(10.0));
        assert_eq!(spread.longer_than(1.0), Some(1.0));
        assert_eq!(spread.longer_than(0.1), Some(2.0));
        // The bucket that would tell is not there: the next one proves less.
        assert_eq!(spread.longer_than(0.05), Some(2.0));
        assert_eq!(spread.longer_than(11.0), None);
    }

    #[test]
    fn buckets_that_make_no_sense_prove_nothing() {
        assert_eq!(histogram(&[]), None);
        assert_eq!(histogram(&[(1.0, 0.0), (f64::INFINITY, 0.0)]), None);
        assert_eq!(histogram(&[(f64::NAN, 5.0)]), None);
        assert_eq!(histogram(&[(1.0, f64::NAN)]), None);
        assert_eq!(histogram(&[(1.0, -3.0)]), None);
        assert_eq!(histogram(&[(f64::INFINITY, 7.0)]), None);
        // Out of order, twice, and falling.
        let odd = histogram(&[(5.0, 3.0), (1.0, 9.0), (5.0, 8.0)]).unwrap();
        assert_eq!(odd.count, 9.0);
        assert_eq!(odd.longer_than(1.0), Some(0.0));
    }

    #[test]
    fn lengths_are_told_in_words() {
        for (bound, words) in [
            (Bound::AtMost(0.005), "≤ 5 ms"),
            (Bound::AtMost(0.012_5), "≤ 12.5 ms"),
            (Bound::AtMost(2.5), "≤ 2.5 s"),
            (Bound::Over(10.0), "over 10 s"),
            (Bound::About(298.023_2), "about 298 s"),
            (Bound::About(0.0), "about 0 ms"),
        ] {
            assert_eq!(bound.to_string(), words);
        }
    }

    #[test]
    fn a_summary_tells_about_how_long() {
        let raw = vec![
            (0.99, 2_500_000.0),
            (0.5, 4000.0),
            (0.9, f64::NAN),
            (7.0, 1.0),
        ];
        let spread = Quantiles::summary(raw, 1e6, Some(3e6), Some(12.0)).unwrap();
        assert_eq!(spread.quantile(0.5), Bound::About(0.004));
        assert_eq!(spread.quantile(0.9), Bound::About(2.5));
        assert_eq!(spread.longer_than(1.0), None);
        assert_eq!((spread.count, spread.sum), (12.0, 3.0));
        let silent = vec![(0.5, f64::NAN), (0.99, f64::NAN)];
        assert_eq!(Quantiles::summary(silent, 1e6, None, Some(12.0)), None);
    }
}
