//! Arrow's C data interface, by Python's PyCapsule protocol.

use arrow_array::ffi::{FFI_ArrowArray, from_ffi, to_ffi};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";

/// An array, or a batch, that pyarrow takes over, without a copy.
#[pyclass(frozen)]
pub struct Exported {
    data: ArrayData,
}

impl Exported {
    pub fn new(batch: RecordBatch) -> Self {
        Self::of_array(&StructArray::from(batch))
    }

    pub fn of_array(array: &dyn Array) -> Self {
        Self { data: array.to_data() }
    }
}

#[pymethods]
impl Exported {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // a wish, by the protocol
        let (array, schema) = to_ffi(&self.data).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        PyTuple::new(py, [schema, array])
    }
}

/// The array of an object of pyarrow's, or of anybody's who speaks the protocol. Its offsets are checked.
pub fn imported(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let data = taken(object)?;
    data.validate_full().map_err(invalid)?;
    Ok(make_array(data))
}

/// The same, with nothing checked but how long its buffers are: offsets may point anywhere, and text be none. So it costs
/// the same for a slice, whatever that is a slice of.
pub fn imported_in_doubt(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let data = taken(object)?;
    data.validate().map_err(invalid)?;
    Ok(make_array(data))
}

fn taken(object: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        object.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold such structs, initialised, by the PyCapsule protocol, and live until the end of
    // this function. The array is moved out of its capsule, which then holds a released one; the schema is only looked at.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map_err(invalid)
}

fn invalid(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
