//! Python's Decimals, laid out in memory as CPython's `_decimal` lays them out.

use std::mem::offset_of;

use arrow_buffer::i256;
use pyo3::ffi::{self, PyObject, PyTypeObject, allocfunc};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// How many words a Decimal holds in itself (`_Py_DEC_MINALLOC`), and what each counts to (`MPD_RADIX`).
const WORDS: usize = 4;
const RADIX: u64 = 10_u64.pow(19);
const NEGATIVE: u8 = 0x01;
/// Neither the number nor its words are freed apart from the object: `MPD_STATIC | MPD_STATIC_DATA`.
const WITHIN: u8 = 0x30;

/// `PyDecObject` of a CPython with 64 bits and a lock: the same from 3.11 to 3.14.
#[repr(C)]
struct Laid {
    head: [usize; 2],
    hash: isize,
    flags: u8,
    exponent: isize,
    digits: isize,
    len: isize,
    alloc: isize,
    words_at: *mut u64,
    words: [u64; WORDS],
}

/// A number, in `_decimal`'s words.
#[derive(Debug, PartialEq, Eq)]
struct Number {
    flags: u8,
    exponent: isize,
    digits: isize,
    len: usize,
    words: [u64; WORDS],
}

impl Number {
    #[inline]
    fn of(unscaled: i128, scale: i32) -> Self {
        let mut words = [0; WORDS];
        let mut left = unscaled.unsigned_abs();
        let mut len = 1;
        loop {
            match u64::try_from(left) {
                Ok(last) if last < RADIX => {
                    words[len - 1] = last;
                    break;
                }
                _ => {
                    words[len - 1] = (left % u128::from(RADIX)) as u64;
                    left /= u128::from(RADIX);
                    len += 1;
                }
            }
        }
        let digits_of_last = words[len - 1].checked_ilog10().map_or(1, |tens| tens as isize + 1);
        Self {
            flags: WITHIN | if unscaled < 0 { NEGATIVE } else { 0 },
            exponent: -(scale as isize),
            digits: 19 * (len as isize - 1) + digits_of_last,
            len,
            words,
        }
    }

    /// What an object of `_decimal` holds; None if that is anything else than `Laid`.
    ///
    /// # Safety
    /// The object has the size of `Laid`.
    unsafe fn in_object(object: *mut PyObject) -> Option<Self> {
        let laid = object.cast::<Laid>();
        // SAFETY: the object lives and has that size. Of its words only those are read that the number has.
        unsafe {
            let len = usize::try_from((*laid).len).ok().filter(|len| (1..=WORDS).contains(len))?;
            let is_within = (*laid).words_at.addr() == object.addr() + offset_of!(Laid, words);
            if !is_within || (*laid).alloc != WORDS as isize || (*laid).hash != -1 {
                return None;
            }
            let mut words = [0; WORDS];
            for (number, word) in words.iter_mut().enumerate().take(len) {
                *word = (*laid).words[number];
            }
            Some(Self { flags: (*laid).flags, exponent: (*laid).exponent, digits: (*laid).digits, len, words })
        }
    }
}

/// Makes Decimals: by their layout, or by Python's class where its objects are laid out in another way.
pub struct Decimals {
    class: Py<PyType>,
    /// Allocates objects of the class.
    layout: Option<allocfunc>,
}

impl Decimals {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let class: Bound<'_, PyType> = py.import("decimal")?.getattr("Decimal")?.cast_into()?;
        let layout = allocation(&class)?.filter(|_| is_laid_out_as_known(&class).unwrap_or(false));
        let made = Self { class: class.unbind(), layout };
        // What Python makes looks right: now what is made here must, to Python.
        if made.layout.is_some() && !made.are_equal_to_pythons(py)? {
            return Ok(Self { layout: None, ..made });
        }
        Ok(made)
    }

    /// The unscaled number with so many of its digits behind the point.
    #[inline]
    pub fn decimal<'py>(&self, py: Python<'py>, unscaled: i256, scale: i32) -> PyResult<Bound<'py, PyAny>> {
        match (self.layout, unscaled.to_i128()) {
            (Some(allocate), Some(short)) => self.laid(py, allocate, &Number::of(short, scale)),
            _ => self.class.bind(py).call1((text(py, unscaled, scale),)),
        }
    }

    fn laid<'py>(&self, py: Python<'py>, allocate: allocfunc, number: &Number) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the thread is attached, and the function is the class's own. What it allocates has the size of `Laid`, holds
        // a reference to its class, is known to the garbage collector if the class is, and is nobody else's yet.
        unsafe {
            let object = Bound::from_owned_ptr_or_err(py, allocate(self.class.as_ptr().cast::<PyTypeObject>(), 0))?;
            let laid = object.as_ptr().cast::<Laid>();
            (*laid).hash = -1;
            (*laid).flags = number.flags;
            (*laid).exponent = number.exponent;
            (*laid).digits = number.digits;
            (*laid).len = number.len as isize;
            (*laid).alloc = WORDS as isize;
            (*laid).words = number.words;
            (*laid).words_at = (&raw mut (*laid).words).cast();
            Ok(object)
        }
    }

    fn are_equal_to_pythons(&self, py: Python<'_>) -> PyResult<bool> {
        for (unscaled, scale) in samples() {
            let ours = self.decimal(py, i256::from_i128(unscaled), scale)?;
            let theirs = self.class.bind(py).call1((text(py, i256::from_i128(unscaled), scale),))?;
            let is_alike = ours.repr()?.as_any().eq(theirs.repr()?)?;
            if !is_alike || ours.ne(&theirs)? || ours.hash()? != theirs.hash()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn text<'py>(py: Python<'py>, unscaled: i256, scale: i32) -> Bound<'py, PyString> {
    PyString::new(py, &format!("{unscaled}E{}", -i64::from(scale)))
}

/// What allocates objects of the class; None if they cannot be what `Laid` is.
fn allocation(class: &Bound<'_, PyType>) -> PyResult<Option<allocfunc>> {
    let py = class.py();
    let sizes = |of: &Bound<'_, PyAny>| -> PyResult<(usize, usize)> {
        Ok((of.getattr("__basicsize__")?.extract()?, of.getattr("__itemsize__")?.extract()?))
    };
    // A build without a lock, and one that traces references, have longer heads.
    let is_cpythons = py.import("sys")?.getattr("implementation")?.getattr("name")?.eq("cpython")?
        && sizes(&py.get_type::<PyAny>())? == (size_of::<[usize; 2]>(), 0)
        && sizes(class)? == (size_of::<Laid>(), 0);
    // SAFETY: the thread is attached. The first interpreter of a process has the number 0.
    let is_in_main = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } == 0;
    // `decimal` written in Python, or whatever somebody has put in the class's place.
    let is_in_c = || py.import("_decimal").and_then(|module| module.getattr("Decimal")).is_ok_and(|own| own.is(class));
    if !is_cpythons || !is_in_main || !is_in_c() {
        return Ok(None);
    }
    // SAFETY: the class lives; the slot of this number holds an `allocfunc`, or null.
    Ok(unsafe {
        let slot = ffi::PyType_GetSlot(class.as_ptr().cast(), ffi::Py_tp_alloc);
        std::mem::transmute::<*mut std::ffi::c_void, Option<allocfunc>>(slot)
    })
}

/// Whether Python's own Decimals hold what `Number` says of them.
fn is_laid_out_as_known(class: &Bound<'_, PyType>) -> PyResult<bool> {
    for (unscaled, scale) in samples() {
        let theirs = class.call1((text(class.py(), i256::from_i128(unscaled), scale),))?;
        if !theirs.get_type().is(class) {
            return Ok(false);
        }
        // SAFETY: objects of the class have the size of `Laid`: `allocation` has compared them.
        let number = unsafe { Number::in_object(theirs.as_ptr()) };
        if number != Some(Number::of(unscaled, scale)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Numbers of one word to three, at both sides of their bounds, with either sign and with exponents of either sign.
fn samples() -> impl Iterator<Item = (i128, i32)> {
    let tens = (0..39).map(|zeros| 10_i128.pow(zeros));
    let near = tens.flat_map(|ten| [ten - 1, ten, ten + 1, ten.saturating_mul(7), -ten, 1 - ten]);
    let scales = [0, 2, -3, 38, i32::MAX, i32::MIN].into_iter().cycle();
    near.chain([i128::MAX, i128::MIN, 1_234_567_890_123_456_789_012_345_678_901_234_567]).zip(scales)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::attached;

    fn decimals(py: Python<'_>) -> Decimals {
        Decimals::new(py).unwrap()
    }

    #[test]
    fn decimals_are_laid_out_on_every_python_that_has_a_wheel() {
        attached(|py| assert!(decimals(py).layout.is_some()));
    }

    #[test]
    fn another_class_in_the_place_of_decimal_is_called() {
        attached(|py| {
            let class = py.import("fractions").unwrap().getattr("Fraction").unwrap().cast_into::<PyType>().unwrap();
            assert!(allocation(&class).unwrap().is_none());
        });
    }

    #[test]
    fn a_number_of_more_than_128_bits_is_pythons_to_make() {
        attached(|py| {
            let long = i256::from_i128(10).wrapping_pow(70);
            let made = decimals(py).decimal(py, long, 2).unwrap();
            assert_eq!(made.to_string(), format!("1{}.00", "0".repeat(68)));
        });
    }

    proptest! {
        #[test]
        fn a_decimal_is_the_one_that_python_makes(unscaled: i128, shift in 0..127_u32, scale in -80..80_i32) {
            attached(|py| {
                let decimals = decimals(py);
                let unscaled = unscaled >> shift;
                let ours = decimals.decimal(py, i256::from_i128(unscaled), scale).unwrap();
                let theirs = decimals.class.bind(py).call1((text(py, i256::from_i128(unscaled), scale),)).unwrap();
                // SAFETY: both are objects of `_decimal`, whose layout was compared.
                let (our_number, their_number) =
                    unsafe { (Number::in_object(ours.as_ptr()), Number::in_object(theirs.as_ptr())) };
                assert_eq!(our_number.as_ref(), Some(&Number::of(unscaled, scale)));
                assert_eq!(our_number, their_number);
                assert_eq!(ours.repr().unwrap().to_string(), theirs.repr().unwrap().to_string());
                assert_eq!(ours.hash().unwrap(), theirs.hash().unwrap());
                // Arithmetic reads it, and its size is what Python says of it.
                assert!(ours.add(&theirs).unwrap().eq(theirs.mul(2).unwrap()).unwrap());
                let size = |of: &Bound<'_, PyAny>| of.call_method0("__sizeof__").unwrap().extract::<usize>().unwrap();
                assert_eq!(size(&ours), size(&theirs));
                // The collector knows it exactly if it knows Python's.
                let is_tracked = py.import("gc").unwrap().getattr("is_tracked").unwrap();
                let tracked = |of: &Bound<'_, PyAny>| is_tracked.call1((of,)).unwrap().is_truthy().unwrap();
                assert_eq!(tracked(&ours), tracked(&theirs));
            });
        }
    }
}
