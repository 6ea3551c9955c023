//! Python's dates and times, made by `datetime`'s own functions in C.

use std::ffi::c_int;

use pyo3::ffi::{PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

/// How the table begins that `datetime` gives to C: the same since Python 3.7 (`PyDateTime_CAPI` in CPython's `datetime.h`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    date: *mut PyTypeObject,
    datetime: *mut PyTypeObject,
    time: *mut PyTypeObject,
    _delta: *mut PyTypeObject,
    _tzinfo: *mut PyTypeObject,
    utc: *mut PyObject,
    new_date: unsafe extern "C" fn(c_int, c_int, c_int, *mut PyTypeObject) -> *mut PyObject,
    #[rustfmt::skip]
    new_datetime: unsafe extern "C" fn(
        c_int, c_int, c_int, c_int, c_int, c_int, c_int, *mut PyObject, *mut PyTypeObject,
    ) -> *mut PyObject,
    new_time: unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut PyObject, *mut PyTypeObject) -> *mut PyObject,
}

// SAFETY: the functions are code; the objects are `Moments`'s too, and are used by a thread that is attached to Python.
unsafe impl Send for Table {}
// SAFETY: as above; nothing in the table changes.
unsafe impl Sync for Table {}

/// Makes dates and times: by the table, or by Python's classes if these are not the table's.
pub struct Moments {
    date: Py<PyType>,
    time: Py<PyType>,
    datetime: Py<PyType>,
    utc: Py<PyAny>,
    table: Option<Table>,
}

impl Moments {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("datetime")?;
        let class = |name| Ok::<_, PyErr>(module.getattr(name)?.cast_into::<PyType>()?.unbind());
        let (date, time, datetime) = (class("date")?, class("time")?, class("datetime")?);
        let utc = module.getattr("UTC")?.unbind();
        // SAFETY: what is in the capsule of this name begins like `Table`. It is copied at once, for the capsule may die.
        let table = unsafe { PyCapsule::import::<Table>(py, c"datetime.datetime_CAPI") }.ok().copied();
        let table = table.filter(|table| {
            let theirs = [table.date.cast(), table.time.cast(), table.datetime.cast(), table.utc];
            theirs == [date.as_ptr(), time.as_ptr(), datetime.as_ptr(), utc.as_ptr()]
        });
        Ok(Self { date, time, datetime, utc, table })
    }

    pub fn date<'py>(&self, py: Python<'py>, days: i64) -> PyResult<Bound<'py, PyAny>> {
        let (year, month, day) = civil(days);
        let Some(table) = &self.table else { return self.date.bind(py).call1((year, month, day)) };
        // SAFETY: the thread is attached; the class is the table's own, which `self` holds. The numbers are checked there.
        unsafe { Bound::from_owned_ptr_or_err(py, (table.new_date)(year, month, day, table.date)) }
    }

    pub fn time<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        let (hour, minute, second, micro) = clock(micros);
        let Some(table) = &self.table else { return self.time.bind(py).call1((hour, minute, second, micro)) };
        let none = py.None();
        // SAFETY: as in `date`; `none` lives until the call is over.
        unsafe {
            let made = (table.new_time)(hour, minute, second, micro, none.as_ptr(), table.time);
            Bound::from_owned_ptr_or_err(py, made)
        }
    }

    /// An instant, in UTC.
    pub fn instant<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.datetime(py, micros, &self.utc)
    }

    /// What a clock without a zone shows.
    pub fn local<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.datetime(py, micros, &py.None())
    }

    fn datetime<'py>(&self, py: Python<'py>, micros: i64, zone: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let ((year, month, day), (hour, minute, second, micro)) = moment(micros);
        let Some(table) = &self.table else {
            return self.datetime.bind(py).call1((year, month, day, hour, minute, second, micro, zone));
        };
        // SAFETY: as in `date`; `zone` is None or a zone, and lives until the call is over.
        unsafe {
            let zone = zone.as_ptr();
            let made = (table.new_datetime)(year, month, day, hour, minute, second, micro, zone, table.datetime);
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}

const DAY_MICROS: i64 = 86_400_000_000;

type Clock = (c_int, c_int, c_int, c_int);

fn clock(micros: i64) -> Clock {
    let seconds = micros / 1_000_000;
    ((seconds / 3_600) as c_int, (seconds / 60 % 60) as c_int, (seconds % 60) as c_int, (micros % 1_000_000) as c_int)
}

fn moment(micros: i64) -> ((c_int, c_int, c_int), Clock) {
    (civil(micros.div_euclid(DAY_MICROS)), clock(micros.rem_euclid(DAY_MICROS)))
}

/// Year, month and day of so many days since 1970, in the Gregorian calendar: counted in eras of 400 years that begin on the
/// first of March, so that a leap day is the last of its year.
fn civil(days: i64) -> (c_int, c_int, c_int) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    ((year + era * 400 + i64::from(month <= 2)) as c_int, month as c_int, day as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-719_162), (1, 1, 1));
        assert_eq!(civil(2_932_896), (9999, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(moment(-1), ((1969, 12, 31), (23, 59, 59, 999_999)));
    }
}
