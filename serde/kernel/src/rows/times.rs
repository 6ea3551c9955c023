//! Days, times of the day and timestamps, as a schema counts them. What is finer, or no datetime of Python's, is the caller's.

use super::views::Integers;
use crate::leaf::{DAYS, MICROS};

const DAY_MILLIS: i64 = 86_400_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// Days since 1970.
pub enum Days<'a> {
    Days(Integers<'a>),
    Millis(Integers<'a>),
}

impl Days<'_> {
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        let days = match self {
            Self::Days(values) => values.get(row)?,
            Self::Millis(values) => {
                let millis = values.get(row)?;
                if millis % DAY_MILLIS != 0 {
                    return None;
                }
                millis / DAY_MILLIS
            }
        };
        DAYS.contains(&days).then_some(days)
    }
}

/// How long an array's ticks are.
#[derive(Clone, Copy)]
pub enum Tick {
    /// So many microseconds.
    Micros(i64),
    Nanosecond,
}

/// Times of the day, or timestamps.
pub struct Ticks<'a> {
    pub values: Integers<'a>,
    pub tick: Tick,
    pub is_of_day: bool,
    /// The schema counts milliseconds, not microseconds.
    pub in_millis: bool,
    /// What is finer than that is cut down.
    pub is_cut: bool,
    /// What is finer than milliseconds is refused, cut or not.
    pub whole_millis: bool,
}

impl Ticks<'_> {
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        let ticks = self.values.get(row)?;
        let micros = match self.tick {
            Tick::Micros(1) => ticks,
            Tick::Micros(micros) => ticks.checked_mul(micros)?,
            Tick::Nanosecond if ticks % 1_000 == 0 => ticks / 1_000,
            Tick::Nanosecond => return None,
        };
        let is_there = if self.is_of_day { (0..DAY_MICROS).contains(&micros) } else { MICROS.contains(&micros) };
        if !is_there {
            return None;
        }
        if !self.in_millis && !self.whole_millis {
            return Some(micros);
        }
        let (millis, rest) = (micros.div_euclid(1_000), micros.rem_euclid(1_000));
        if rest != 0 && (self.whole_millis || !self.is_cut) {
            return None;
        }
        Some(if self.in_millis { millis } else { micros })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLIS: Ticks<'_> = Ticks {
        values: Integers::I64(&[1_999, -1, 2_000, i64::MAX]),
        tick: Tick::Micros(1),
        is_of_day: false,
        in_millis: true,
        is_cut: false,
        whole_millis: false,
    };

    fn all(ticks: &Ticks<'_>) -> [Option<i64>; 4] {
        std::array::from_fn(|row| ticks.get(row))
    }

    #[test]
    fn a_time_finer_than_the_schema_is_refused_or_cut_down_to_the_earlier_one() {
        assert_eq!(all(&MILLIS), [None, None, Some(2), None]);
        assert_eq!(all(&Ticks { is_cut: true, ..MILLIS }), [Some(1), Some(-1), Some(2), None]);
        assert_eq!(all(&Ticks { is_cut: true, whole_millis: true, ..MILLIS }), [None, None, Some(2), None]);
        let micros = Ticks { in_millis: false, ..MILLIS };
        assert_eq!(all(&micros), [Some(1_999), Some(-1), Some(2_000), None]);
        assert_eq!(all(&Ticks { whole_millis: true, ..micros }), [None, None, Some(2_000), None]);
    }

    #[test]
    fn nanoseconds_are_never_cut() {
        let nanos = Ticks { tick: Tick::Nanosecond, is_cut: true, in_millis: false, ..MILLIS };
        assert_eq!(all(&nanos), [None, None, Some(2), None]);
    }

    #[test]
    fn a_time_of_day_is_within_it() {
        let values = Integers::I64(&[0, DAY_MICROS - 1, DAY_MICROS, -1]);
        let day = Ticks { values, is_of_day: true, in_millis: false, ..MILLIS };
        assert_eq!(all(&day), [Some(0), Some(DAY_MICROS - 1), None, None]);
        let seconds = Ticks { values: Integers::I32(&[86_399, 86_400, 0, 1]), tick: Tick::Micros(1_000_000), ..day };
        assert_eq!(all(&seconds), [Some(86_399_000_000), None, Some(0), Some(1_000_000)]);
    }

    #[test]
    fn a_day_is_one_of_pythons_and_whole() {
        let days = Days::Days(Integers::I32(&[0, -719_162, -719_163, i32::MAX]));
        assert_eq!([0, 1, 2, 3].map(|row| days.get(row)), [Some(0), Some(-719_162), None, None]);
        let millis = Days::Millis(Integers::I64(&[DAY_MILLIS, -DAY_MILLIS, 1]));
        assert_eq!([0, 1, 2].map(|row| millis.get(row)), [Some(1), Some(-1), None]);
    }
}
