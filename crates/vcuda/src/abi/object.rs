//! Texture and surface objects: made of arrays and of linear memory, and described.

use super::{
    array::array,
    copy::on_card,
    raw::{In, Out},
};
use crate::{
    array::{SURFACE, format},
    card,
    context::Context,
    driver::{driver, usable},
    object::{AS_INTEGER, NO_TRILINEAR, NORMALIZED, Object, Resource, SEAMLESS, SRGB, Sampling},
    status::Status,
    table::Handle,
};
use std::{ffi::c_void, sync::Arc};
use warpsmith_vgpu::texture::{
    Address, Channel, Filter, Format, Geometry, Image, Sampler, Surface, Texture,
};

/// Kinds of resources.
const ARRAY: u32 = 0;
const MIPMAPPED: u32 = 1;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// What addresses of textures over memory are multiples of. Cards say 512, and give memory out so; here that is 256, and no
/// memory that was allocated may be refused.
const ALIGN: u64 = 256;

fn lacks<T>(what: &str) -> Result<T, Status> {
    crate::report::lacks(what);
    Err(Status::NotSupported)
}

/// Images of a resource, the largest first.
fn images(context: &Context, resource: &Resource) -> Result<Vec<Image>, Status> {
    if resource.flags != 0 {
        return Err(Status::InvalidValue);
    }
    let handle = Handle(resource.words[0] as usize);
    match resource.kind {
        ARRAY => Ok(vec![array(handle)?.image]),
        MIPMAPPED => {
            let all = driver()?.pyramids.find(handle)?;
            Ok(all.levels.iter().map(|level| level.image).collect())
        }
        LINEAR => Ok(vec![linear(context, resource)?]),
        PITCHED => Ok(vec![pitched(context, resource)?]),
        _ => Err(Status::InvalidValue),
    }
}

/// The format that the second word of memory that is no array says.
fn format_of(resource: &Resource) -> Result<Format, Status> {
    let word = resource.words[1];
    format(word as u32, (word >> 32) as u32)
}

/// What a card says of itself.
fn attribute(context: &Context, number: i32) -> u64 {
    let core = &context.core;
    card::attribute(core.settings, core.card.index, number).unwrap_or(0) as u64
}

fn linear(context: &Context, resource: &Resource) -> Result<Image, Status> {
    let (address, bytes) = (resource.words[0], resource.words[2]);
    let format = format_of(resource)?;
    let count = bytes / format.bytes();
    if address == 0
        || !address.is_multiple_of(ALIGN)
        || count == 0
        || count > attribute(context, 69)
    {
        return Err(Status::InvalidValue);
    }
    on_card(address, bytes as usize)?;
    let size = [count as u32, 1, 1];
    Ok(Image::tight(Geometry::Buffer, format, size, address))
}

fn pitched(context: &Context, resource: &Resource) -> Result<Image, Status> {
    let [address, _, width, height, pitch, ..] = resource.words;
    let format = format_of(resource)?;
    let row = width.checked_mul(format.bytes());
    let right = address != 0
        && address.is_multiple_of(ALIGN)
        && pitch.is_multiple_of(attribute(context, 51))
        && (1..=attribute(context, 70)).contains(&width)
        && (1..=attribute(context, 71)).contains(&height)
        && pitch <= attribute(context, 72)
        && row.is_some_and(|row| row <= pitch);
    if !right {
        return Err(Status::InvalidValue);
    }
    // Behind the last row nothing is read.
    on_card(
        address,
        (pitch * (height - 1) + width * format.bytes()) as usize,
    )?;
    Ok(Image {
        pitch,
        slice: pitch * height,
        ..Image::tight(
            Geometry::Plane,
            format,
            [width as u32, height as u32, 1],
            address,
        )
    })
}

fn filter(number: u32) -> Result<Filter, Status> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Status::InvalidValue),
    }
}

fn address(number: u32) -> Result<Address, Status> {
    let all = [
        Address::Wrap,
        Address::Clamp,
        Address::Mirror,
        Address::Border,
    ];
    let found = all.get(number as usize);
    found.copied().ok_or(Status::InvalidValue)
}

/// How such an image is read.
fn sampler(image: &Image, levels: usize, sampling: &Sampling) -> Result<Sampler, Status> {
    let has = |flag: u32| sampling.flags & flag != 0;
    let known = AS_INTEGER | NORMALIZED | SRGB | NO_TRILINEAR | SEAMLESS;
    if sampling.flags & !known != 0 || sampling.anisotropy > 16 {
        return Err(Status::InvalidValue);
    }
    if sampling.anisotropy > 1 {
        return lacks("anisotropic filters of textures");
    }
    if has(SEAMLESS) {
        return lacks("filters across the edges of cube maps");
    }
    let channel = image.format.channel;
    let narrow = !channel.is_float() && channel.bytes() < 4;
    let as_float = narrow && !has(AS_INTEGER);
    if has(SRGB) && !(channel == Channel::U8 && as_float) {
        return lacks("sRGB of other than 8-bit integers that become floats");
    }
    let mut modes = [Address::Clamp; 3];
    for (mode, number) in modes.iter_mut().zip(sampling.address) {
        *mode = address(number)?;
    }
    let buffer = image.geometry == Geometry::Buffer;
    let filter_of = filter(sampling.filter)?;
    let mip_filter = filter(sampling.mip_filter)?;
    let floats = channel.is_float() || as_float;
    if filter_of == Filter::Linear && !floats && !buffer || levels > 1 && !has(NORMALIZED) {
        return Err(Status::InvalidValue);
    }
    if !floats && modes.contains(&Address::Border) && sampling.border.iter().any(|x| *x != 0.0) {
        return lacks("a border other than zero around integers");
    }
    Ok(Sampler {
        address: modes,
        filter: filter_of,
        normalized: has(NORMALIZED),
        as_float,
        srgb: has(SRGB),
        border: sampling.border,
        mip_filter,
        bias: sampling.bias,
        levels: sampling.levels,
    })
}

/// The object of a handle, if it is of that kind.
fn object(handle: u64, texture: bool) -> Result<Arc<Object>, Status> {
    let object = driver()?.objects.find(Handle(handle as usize))?;
    if object.sampling.is_some() == texture {
        Ok(object)
    } else {
        Err(Status::InvalidHandle)
    }
}

fn keep(out: Out<u64>, object: Object) -> Result<(), Status> {
    let handle = object.handle;
    let objects = &driver()?.objects;
    objects.insert_as(Handle(handle as usize), Arc::new(object));
    out.put(handle)
}

/// What is being read keeps its handle until it is done.
fn destroy(handle: u64, texture: bool) -> Result<(), Status> {
    usable()?;
    let object = object(handle, texture)?;
    let context = driver()?.contexts.all();
    let own = context
        .iter()
        .find(|one| Arc::ptr_eq(&one.core, &object.core));
    let well = own.map_or(Ok(()), |context| context.synchronize());
    driver()?.objects.remove(Handle(handle as usize))?;
    well
}

entries! {
    cuTexObjectCreate(
        out: Out<u64>,
        resource: In<Resource>,
        sampling: In<Sampling>,
        view: In<c_void>,
    ) {
        let (out, context) = (out.wanted()?, usable()?);
        let (resource, sampling) = (resource.value()?, sampling.value()?);
        if !view.is_null() {
            return lacks("views of resources");
        }
        let images = images(&context, &resource)?;
        let sampler = sampler(&images[0], images.len(), &sampling)?;
        let texture = Texture { image: images[0], coarser: images[1..].into(), sampler };
        let core = context.core.clone();
        let handle = core.machine.texture(texture);
        keep(out, Object { core, handle, resource, sampling: Some(sampling) })
    }

    cuTexObjectDestroy(handle: u64) {
        destroy(handle, true)
    }

    cuTexObjectGetResourceDesc(resource: Out<Resource>, handle: u64) {
        resource.put(object(handle, true)?.resource)
    }

    cuTexObjectGetTextureDesc(sampling: Out<Sampling>, handle: u64) {
        let object = object(handle, true)?;
        sampling.put(object.sampling.ok_or(Status::InvalidHandle)?)
    }

    /// No object has a view.
    cuTexObjectGetResourceViewDesc(_view: Out<c_void>, handle: u64) {
        object(handle, true)?;
        Err(Status::InvalidValue)
    }

    cuSurfObjectCreate(out: Out<u64>, resource: In<Resource>) {
        let (out, context) = (out.wanted()?, usable()?);
        let resource = resource.value()?;
        if resource.kind != ARRAY || resource.flags != 0 {
            return Err(Status::InvalidValue);
        }
        let array = array(Handle(resource.words[0] as usize))?;
        if array.descriptor.flags & SURFACE == 0 {
            return Err(Status::InvalidValue);
        }
        let core = context.core.clone();
        let handle = core.machine.surface(Surface { image: array.image });
        keep(out, Object { core, handle, resource, sampling: None })
    }

    cuSurfObjectDestroy(handle: u64) {
        destroy(handle, false)
    }

    cuSurfObjectGetResourceDesc(resource: Out<Resource>, handle: u64) {
        resource.put(object(handle, false)?.resource)
    }
}
