//! Hashes Arrow columns. Reads them through pyarrow.
//!
//! pyarrow returns the buffers of a column (`Array.buffers()`) without an item type. `numpy.frombuffer` adds the item
//! type, and Python's buffer protocol gives access to the items. This way of reading a column needs no copy, no unsafe
//! import of C structs, and no second implementation of Arrow. pyarrow imports columns of other libraries through the
//! Arrow PyCapsule interface, without a copy.
//!
//! Arrow buffers are immutable by contract, so strings are hashed without the GIL.

use crate::buffer::{bytes, items};
use crate::hashes::Hashes;
use crate::numpy::hash_ndarray;
use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;
use trommel::error::OffsetsError;
use trommel::{Hasher, KeyHash};

/// Appends the hashes of a column: a pyarrow array, a pyarrow chunked array, or an object that exports an Arrow column.
pub(crate) fn hash_column(
    column: &Bound<'_, PyAny>,
    hasher: &Hasher,
    out: &mut Hashes,
) -> PyResult<()> {
    let py = column.py();
    let pyarrow = py.import("pyarrow")?;
    if column.is_instance(&pyarrow.getattr("Array")?)? {
        return hash_array(column, hasher, out);
    }
    let chunked_type = pyarrow.getattr("ChunkedArray")?;
    let chunked = if column.is_instance(&chunked_type)? {
        column.clone()
    } else if column.hasattr("__arrow_c_array__")? {
        return hash_array(&pyarrow.call_method1("array", (column,))?, hasher, out);
    } else {
        pyarrow.call_method1("chunked_array", (column,))?
    };
    for array in chunked.getattr("chunks")?.try_iter()? {
        hash_array(&array?, hasher, out)?;
    }
    Ok(())
}

fn hash_array(array: &Bound<'_, PyAny>, hasher: &Hasher, out: &mut Hashes) -> PyResult<()> {
    let array = Array::new(array)?;
    if array.len == 0 {
        return Ok(());
    }
    out.reserve(array.len)?;
    let start = out.hashes.len();
    let data_type = array.data_type.as_str();
    match data_type {
        "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64" => {
            hash_ndarray(&array.items(1, data_type, array.len)?, hasher, &mut |hashes| {
                out.hashes.extend_from_slice(&hashes.hashes);
                Ok(())
            })?;
        }
        "string" | "binary" => {
            array.hash_strings("int32", Hasher::hash_column::<i32>, hasher, out)?;
        }
        "large_string" | "large_binary" => {
            array.hash_strings("int64", Hasher::hash_column::<i64>, hasher, out)?;
        }
        "string_view" | "binary_view" => array.hash_views(hasher, out)?,
        "null" => {
            (0..array.len).for_each(|_| out.push_null());
            return Ok(());
        }
        _ if data_type.starts_with("fixed_size_binary[") => array.hash_fixed(hasher, out)?,
        _ if data_type.starts_with("dictionary<") => return array.hash_dictionary(hasher, out),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "keys are integers, strings or binary, not {data_type}: convert them, for example with cast"
            )));
        }
    }
    array.find_nulls(start, out)
}

/// The type of [`Hasher::hash_column`] with offsets of type `O`.
type HashColumn<O> = fn(&Hasher, &[O], &[u8], &mut Vec<KeyHash>) -> Result<(), OffsetsError>;

/// A pyarrow array, and the attributes that are needed to read it.
struct Array<'py> {
    array: Bound<'py, PyAny>,
    buffers: Vec<Option<Bound<'py, PyAny>>>,
    data_type: String,
    len: usize,
    /// The index of the array's first item in the buffers. It can be above 0 if the array is a slice of a longer one.
    offset: usize,
}

impl<'py> Array<'py> {
    fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            buffers: array.call_method0("buffers")?.extract()?,
            data_type: array.getattr("type")?.str()?.to_string(),
            len: array.len()?,
            offset: array.getattr("offset")?.extract()?,
            array: array.clone(),
        })
    }

    fn buffer(&self, index: usize) -> PyResult<Option<PyUntypedBuffer>> {
        let buffer = self.buffers.get(index).and_then(Option::as_ref);
        buffer.map(PyUntypedBuffer::get).transpose()
    }

    /// Returns `count` items of buffer `index`, from the first item of this Arrow array on, as a NumPy array. Does not
    /// copy.
    fn items(&self, index: usize, dtype: &str, count: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.array.py();
        let buffer = self.buffers.get(index).and_then(Option::as_ref);
        let buffer = buffer.ok_or_else(|| damaged("a buffer is missing"))?;
        let numpy = py.import("numpy")?;
        let dtype = numpy.call_method1("dtype", (dtype,))?;
        let item_bytes: usize = dtype.getattr("itemsize")?.extract()?;
        let start = self.offset.saturating_mul(item_bytes);
        numpy.call_method1("frombuffer", (buffer, dtype, count, start))
    }

    fn hash_strings<O: Element + Sync>(
        &self,
        dtype: &str,
        hash_column: HashColumn<O>,
        hasher: &Hasher,
        out: &mut Hashes,
    ) -> PyResult<()> {
        let offsets = PyUntypedBuffer::get(&self.items(1, dtype, self.len + 1)?)?;
        let offsets = items::<O>(&offsets)?;
        let data = self.buffer(2)?;
        let data = data.as_ref().map_or(Ok(&[][..]), bytes)?;
        let mut hashes = Vec::new();
        let hashed = self.array.py().detach(|| hash_column(hasher, offsets, data, &mut hashes));
        hashed.map_err(damaged)?;
        append(out, hashes);
        Ok(())
    }

    /// Hashes string or binary views. A view has 16 bytes. The first four are the key's length. A key of up to 12 bytes
    /// follows in the view itself. A longer key is in a data buffer: its view goes on with the key's first four bytes,
    /// the index of the data buffer, and the key's offset in the data buffer.
    fn hash_views(&self, hasher: &Hasher, out: &mut Hashes) -> PyResult<()> {
        let views = self.buffer(1)?.ok_or_else(|| damaged("a buffer is missing"))?;
        let data = (2..self.buffers.len())
            .map(|index| self.buffer(index))
            .collect::<PyResult<Vec<_>>>()?;
        let no_bytes = &[][..];
        let data = data.iter().map(|buffer| buffer.as_ref().map_or(Ok(no_bytes), bytes));
        let data = data.collect::<PyResult<Vec<_>>>()?;
        let views = bytes(&views)?.as_chunks::<16>().0;
        let views = views.get(self.offset..self.offset + self.len);
        let views = views.ok_or_else(|| damaged("the buffer of views is too short"))?;
        let word = |view: &[u8; 16], at: usize| {
            u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize
        };
        let key_of = |view: &'_ [u8; 16]| -> Option<KeyHash> {
            let len = word(view, 0);
            if len <= 12 {
                return Some(hasher.hash_bytes(&view[4..4 + len]));
            }
            let start = word(view, 12);
            Some(hasher.hash_bytes(data.get(word(view, 8))?.get(start..start.checked_add(len)?)?))
        };
        let hashes =
            self.array.py().detach(|| views.iter().map(key_of).collect::<Option<Vec<_>>>());
        append(out, hashes.ok_or_else(|| damaged("a view is outside of its data"))?);
        Ok(())
    }

    fn hash_fixed(&self, hasher: &Hasher, out: &mut Hashes) -> PyResult<()> {
        let size: usize = self.array.getattr("type")?.getattr("byte_width")?.extract()?;
        let buffer = self.buffer(1)?;
        let data = buffer.as_ref().map_or(Ok(&[][..]), bytes)?;
        for index in self.offset..self.offset + self.len {
            let key = data.get(index * size..(index + 1) * size);
            let key = key.ok_or_else(|| damaged("the buffer of values is too short"))?;
            out.hashes.push(hasher.hash_bytes(key));
        }
        Ok(())
    }

    /// Hashes a dictionary array. Hashes each value of the dictionary once.
    fn hash_dictionary(&self, hasher: &Hasher, out: &mut Hashes) -> PyResult<()> {
        let mut values = Hashes::default();
        hash_column(&self.array.getattr("dictionary")?, hasher, &mut values)?;
        let indices =
            Array::new(&self.array.getattr("indices")?.call_method1("cast", ("int64",))?)?;
        let start = out.hashes.len();
        let buffer = PyUntypedBuffer::get(&indices.items(1, "int64", indices.len)?)?;
        let mut nulls = Hashes { hashes: std::mem::take(&mut out.hashes), nulls: Vec::new() };
        indices.find_nulls(start, &mut nulls)?;
        out.hashes = nulls.hashes;
        let mut null_indices = nulls.nulls.into_iter().peekable();
        for index in items::<i64>(&buffer)? {
            // The dictionary index of a null is arbitrary, so it is not checked.
            if null_indices.next_if_eq(&out.hashes.len()).is_some() {
                out.push_null();
                continue;
            }
            let index = usize::try_from(*index).ok().filter(|index| *index < values.hashes.len());
            let index = index.ok_or_else(|| damaged("an index is outside of the dictionary"))?;
            if values.nulls.binary_search(&index).is_ok() {
                out.push_null();
            } else {
                out.hashes.push(values.hashes[index]);
            }
        }
        Ok(())
    }

    /// Appends the positions of the array's nulls to `out.nulls`. Item 0 of the array has the position `start`.
    fn find_nulls(&self, start: usize, out: &mut Hashes) -> PyResult<()> {
        if self.array.getattr("null_count")?.extract::<usize>()? == 0 {
            return Ok(());
        }
        let validity = self.buffer(0)?.ok_or_else(|| damaged("the validity bitmap is missing"))?;
        let validity = bytes(&validity)?;
        for index in 0..self.len {
            let bit = self.offset + index;
            let byte = validity.get(bit / 8).ok_or_else(|| damaged("too few validity bits"))?;
            if byte >> (bit % 8) & 1 == 0 {
                out.nulls.push(start + index);
            }
        }
        Ok(())
    }
}

/// Appends hashes. If `out` is empty, moves the vector instead of copying the hashes.
fn append(out: &mut Hashes, mut hashes: Vec<KeyHash>) {
    if out.hashes.is_empty() {
        out.hashes = hashes;
    } else {
        out.hashes.append(&mut hashes);
    }
}

fn damaged(what: impl Display) -> PyErr {
    PyValueError::new_err(format!("the Arrow array is damaged: {what}"))
}
