//! Arguments as tests make them.

use super::*;

impl<T> Out<T> {
    pub(crate) fn of(value: &mut T) -> Out<T> {
        Out(value)
    }

    pub(crate) fn of_array(values: &mut [T]) -> Out<T> {
        Out(values.as_mut_ptr())
    }
}

impl<T> In<T> {
    pub(crate) fn of(values: &[T]) -> In<T> {
        In(values.as_ptr())
    }
}

impl Text {
    pub(crate) const NULL: Text = Text(ptr::null());

    pub(crate) fn of(text: &CStr) -> Text {
        Text(text.as_ptr())
    }
}

impl Image {
    pub(crate) const NULL: Image = Image(ptr::null());

    pub(crate) fn of(text: &CStr) -> Image {
        Image(text.as_ptr().cast())
    }
}

impl Host {
    pub(crate) const NULL: Host = Host(ptr::null_mut());
}

impl Pointers {
    pub(crate) fn of(pointers: &[*const u8]) -> Pointers {
        Pointers(pointers.as_ptr())
    }
}
