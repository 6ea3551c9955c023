//! Python's strings. The ASCII among them are made without Python's decoder, whose call costs more than the copy.

use std::ffi::c_void;

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::python::Fault;

/// `PyUnicode_New`: a string of so many characters, none above the second number, for its maker to fill.
type Blank = unsafe extern "C" fn(isize, u32) -> *mut PyObject;

/// It is no part of the stable ABI, though every CPython has it: it is looked up, tried, and done without if need be.
static BLANK: PyOnceLock<Option<Blank>> = PyOnceLock::new();

const LAST_OF_ASCII: u32 = 0x7f;
/// Strings of fewer characters are Python's own, one object for each.
const FEWEST: usize = 2;

/// A text, checked once to be UTF-8.
#[inline]
pub fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Result<Bound<'py, PyAny>, Fault> {
    if bytes.len() >= FEWEST
        && bytes.is_ascii()
        && let Some(blank) = *BLANK.get_or_init(py, || looked_up(py))
    {
        // SAFETY: the bytes are ASCII.
        return unsafe { ascii(py, blank, bytes) }.map_err(Fault::from);
    }
    match PyString::from_bytes(py, bytes) {
        Ok(text) => Ok(text.into_any()),
        Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => Err(Fault::Bad),
        Err(error) => Err(error.into()),
    }
}

/// # Safety
/// The bytes are ASCII, and `blank` is `PyUnicode_New`.
#[inline]
unsafe fn ascii<'py>(py: Python<'py>, blank: Blank, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the thread is attached. The string is nobody else's yet; the UTF-8 of one of ASCII is its own characters, of
    // which there are as many as bytes.
    unsafe {
        let text = Bound::from_owned_ptr_or_err(py, blank(bytes.len() as isize, LAST_OF_ASCII))?;
        let characters = ffi::PyUnicode_AsUTF8AndSize(text.as_ptr(), std::ptr::null_mut());
        if characters.is_null() {
            return Err(PyErr::fetch(py));
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), characters.cast_mut().cast(), bytes.len());
        Ok(text)
    }
}

#[cfg(unix)]
fn looked_up(py: Python<'_>) -> Option<Blank> {
    // SAFETY: a function of this name is `PyUnicode_New`, which has been the same since Python 3.3.
    let blank = unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, c"PyUnicode_New".as_ptr());
        std::mem::transmute::<*mut c_void, Option<Blank>>(address)
    }?;
    is_filled_in_place(py, blank).then_some(blank)
}

#[cfg(not(unix))]
fn looked_up(_: Python<'_>) -> Option<Blank> {
    None
}

/// Whether the characters of such a string are inside it, where `ascii` writes them.
#[cfg(unix)]
fn is_filled_in_place(py: Python<'_>, blank: Blank) -> bool {
    const TRIED: &str = "as long as it takes";
    // SAFETY: as in `ascii`. Nothing is written before it is known to be inside the object.
    let text = unsafe {
        let Ok(text) = Bound::from_owned_ptr_or_err(py, blank(TRIED.len() as isize, LAST_OF_ASCII)) else {
            return false;
        };
        let mut size = 0;
        let characters = ffi::PyUnicode_AsUTF8AndSize(text.as_ptr(), &raw mut size);
        let Ok(whole) = text.call_method0("__sizeof__").and_then(|size| size.extract::<usize>()) else { return false };
        let is_within =
            (text.as_ptr().addr()..text.as_ptr().addr() + whole).contains(&(characters.addr() + TRIED.len()));
        if size as usize != TRIED.len() || characters.addr() < text.as_ptr().addr() || !is_within {
            return false;
        }
        std::ptr::copy_nonoverlapping(TRIED.as_ptr(), characters.cast_mut().cast(), TRIED.len());
        text
    };
    let theirs = PyString::new(py, TRIED);
    text.is_exact_instance_of::<PyString>()
        && text.eq(&theirs).unwrap_or(false)
        && text.hash().ok() == theirs.hash().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pyo3::types::{PyDict, PyStringMethods};

    use super::*;
    use crate::hostile::attached;

    #[test]
    #[cfg(unix)]
    fn ascii_is_made_in_place_on_every_python_that_has_a_wheel() {
        attached(|py| assert!(looked_up(py).is_some()));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        attached(|py| assert!(matches!(text(py, b"caf\xe9"), Err(Fault::Bad))));
    }

    proptest! {
        #[test]
        fn a_text_is_the_one_that_python_makes(given in "[ -~]{0,40}|\\PC{0,40}|[\\x00-\\x7f]{0,3}") {
            attached(|py| {
                let Ok(ours) = text(py, given.as_bytes()) else { panic!("{given:?} is refused") };
                let theirs = PyString::new(py, &given);
                // Compared first: to be asked for its UTF-8 makes a string remember it.
                let size = |of: &Bound<'_, PyAny>| of.call_method0("__sizeof__").unwrap().extract::<usize>().unwrap();
                assert_eq!(size(&ours), size(theirs.as_any()));
                assert!(ours.eq(&theirs).unwrap());
                assert_eq!(ours.cast::<PyString>().unwrap().to_str().unwrap(), given);
                assert_eq!(ours.hash().unwrap(), theirs.hash().unwrap());
                let keys = PyDict::new(py);
                keys.set_item(&ours, 1).unwrap();
                assert!(keys.contains(theirs).unwrap());
            });
        }
    }
}
