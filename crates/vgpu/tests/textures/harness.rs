//! Runs a kernel over images in each way there is: compiled, interpreted, and checked.

use warpsmith_ptx::{parse::parse, verify::verify};
use warpsmith_vgpu::{
    Compile, Config, Error, Launch, Machine,
    check::{Checks, Finding},
    texture::{Channel, Format, Geometry, Image, Sampler, Surface, Texture},
};

/// A generator of numbers (PCG-like), so that tests are the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32 ^ (self.0 >> 61) as u32
    }

    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 / (1 << 23) as f32
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// An image with what it holds.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) geometry: Geometry,
    pub(crate) format: Format,
    pub(crate) size: [u32; 3],
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn format(channel: Channel, channels: u8) -> Format {
    Format { channel, channels }
}

impl Picture {
    /// Of random numbers, floats of small size among them.
    pub(crate) fn random(
        geometry: Geometry,
        format: Format,
        size: [u32; 3],
        random: &mut Random,
    ) -> Picture {
        let count = size.iter().product::<u32>() as usize * usize::from(format.channels);
        let bytes = match format.channel {
            Channel::F32 => (0..count)
                .flat_map(|_| (8.0 * random.unit() - 4.0).to_le_bytes())
                .collect(),
            // Halves from 1 to 2, or from -2 to -1.
            Channel::F16 => (0..count)
                .flat_map(|_| (0x3C00 | random.next() as u16 & 0x83FF).to_le_bytes())
                .collect(),
            _ => random.bytes(count * format.channel.bytes() as usize),
        };
        Picture {
            geometry,
            format,
            size,
            bytes,
        }
    }

    pub(crate) fn place(&self, machine: &Machine) -> Image {
        let image = Image::tight(self.geometry, self.format, self.size, 0);
        let address = machine.alloc(image.bytes()).expect("memory");
        if !self.bytes.is_empty() {
            machine.write(address, &self.bytes).expect("inside");
        }
        Image { address, ..image }
    }

    /// A channel as its type has it.
    pub(crate) fn channel(&self, [x, y, z]: [u32; 3], channel: usize) -> f64 {
        let element = (z * self.size[1] + y) * self.size[0] + x;
        let each = self.format.channel.bytes() as usize;
        let at = (element as usize * usize::from(self.format.channels) + channel) * each;
        let raw = &self.bytes[at..at + each];
        match self.format.channel {
            Channel::U8 => f64::from(raw[0]),
            Channel::S8 => f64::from(raw[0] as i8),
            Channel::U16 => f64::from(u16::from_le_bytes([raw[0], raw[1]])),
            Channel::S16 => f64::from(i16::from_le_bytes([raw[0], raw[1]])),
            // Of those that pictures hold.
            Channel::F16 => {
                let bits = u16::from_le_bytes([raw[0], raw[1]]);
                let size = 1.0 + f64::from(bits & 0x3FF) / 1024.0;
                if bits >> 15 == 0 { size } else { -size }
            }
            Channel::U32 => f64::from(u32::from_le_bytes(raw.try_into().expect("4 bytes"))),
            Channel::S32 => f64::from(i32::from_le_bytes(raw.try_into().expect("4 bytes"))),
            Channel::F32 => f64::from(f32::from_le_bytes(raw.try_into().expect("4 bytes"))),
        }
    }
}

/// What a kernel is given.
pub(crate) enum Given<'a> {
    Texture(&'a [Picture], Sampler),
    Surface(&'a Picture),
    Words(Vec<u32>),
}

/// A kernel `k` over handles and arrays, each a parameter in `%d0`, `%d1`, ...; the results are behind them, and come back
/// with the bytes of the first surface.
pub(crate) struct Case<'a> {
    pub(crate) body: String,
    pub(crate) given: Vec<Given<'a>>,
    pub(crate) threads: u32,
    pub(crate) out: usize,
}

pub(crate) const HEAD: &str = ".version 8.6\n.target sm_80\n.address_size 64\n";

impl Case<'_> {
    pub(crate) fn text(&self) -> String {
        let count = self.given.len() + 1;
        let params: Vec<String> = (0..count).map(|at| format!(".param .u64 p{at}")).collect();
        let loads: String = (0..count)
            .map(|at| format!("  ld.param.u64 %d{at}, [p{at}];\n"))
            .collect();
        format!(
            "{HEAD}.visible .entry k({}) {{\n  .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; \
             .reg .f32 %f<64>;\n{loads}  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mad.lo.u32 %r0, %r1, 32, %r0;\n\
             {}\n  ret;\n}}\n",
            params.join(", "),
            self.body
        )
    }

    /// The results and the first surface on such a machine, and what is found.
    pub(crate) fn run_on(
        &self,
        config: Config,
    ) -> (Result<(Vec<u32>, Vec<u8>), Error>, Vec<Finding>) {
        let module = parse(&self.text()).unwrap_or_else(|found| panic!("{found:#?}"));
        let module = verify(module).unwrap_or_else(|found| panic!("{found:#?}\n{}", self.text()));
        let machine = Machine::new(config).expect("a machine");
        let stream = machine.stream().expect("a stream");
        let result = (|| {
            let loaded = machine.load(&module)?;
            let (mut params, mut written) = (Vec::new(), None);
            for given in &self.given {
                let word = match given {
                    Given::Texture(pictures, sampler) => {
                        let images: Vec<Image> =
                            pictures.iter().map(|one| one.place(&machine)).collect();
                        machine.texture(Texture {
                            image: images[0],
                            coarser: images[1..].into(),
                            sampler: *sampler,
                        })
                    }
                    Given::Surface(picture) => {
                        let image = picture.place(&machine);
                        written.get_or_insert(image);
                        machine.surface(Surface { image })
                    }
                    Given::Words(words) => {
                        let bytes: Vec<u8> = words.iter().flat_map(|x| x.to_le_bytes()).collect();
                        let at = machine.alloc(bytes.len() as u64)?;
                        machine.write(at, &bytes)?;
                        at
                    }
                };
                params.extend(word.to_le_bytes());
            }
            let out = machine.alloc(4 * self.out.max(1) as u64)?;
            params.extend(out.to_le_bytes());
            stream.launch(Launch {
                kernel: loaded.kernel("k").expect("kernel k"),
                grid: [self.threads.div_ceil(32), 1, 1],
                block: [self.threads.min(32), 1, 1],
                dynamic_shared: 0,
                params,
                cooperative: false,
                cluster: None,
            })?;
            stream.synchronize()?;
            let mut bytes = vec![0; 4 * self.out];
            machine.read(out, &mut bytes)?;
            let words = bytes.as_chunks::<4>().0;
            let mut surface = Vec::new();
            if let Some(image) = written {
                surface = vec![0; image.bytes() as usize];
                machine.read(image.address, &mut surface)?;
            }
            Ok((
                words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
                surface,
            ))
        })();
        (result, machine.take_findings())
    }

    /// The results and the first surface, the same in every way and without a finding.
    #[track_caller]
    pub(crate) fn run(&self) -> (Vec<u32>, Vec<u8>) {
        let (compiled, _) = self.run_on(Config {
            compile: Compile::Always,
            workers: 2,
            ..plain()
        });
        let compiled = compiled.unwrap_or_else(|error| panic!("compiled: {error}"));
        let (interpreted, _) = self.run_on(plain());
        assert_eq!(
            interpreted.unwrap_or_else(|error| panic!("interpreted: {error}")),
            compiled
        );
        let (checked, found) = self.checked();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{shown:#?}");
        assert_eq!(
            checked.unwrap_or_else(|error| panic!("checked: {error}")),
            compiled
        );
        compiled
    }

    pub(crate) fn checked(&self) -> (Result<(Vec<u32>, Vec<u8>), Error>, Vec<Finding>) {
        self.run_on(Config {
            checks: Some(Checks::default()),
            ..plain()
        })
    }
}

/// An interpreter.
pub(crate) fn plain() -> Config {
    Config {
        compile: Compile::Never,
        memory: 64 << 20,
        workers: 1,
        closed: true,
        ..Config::default()
    }
}

/// Loads `count` words of the thread from `%d{array}` to registers with a prefix, from number `first` on.
pub(crate) fn words_of_thread(array: usize, count: usize, prefix: &str, first: usize) -> String {
    let mut text = format!(
        "  mul.wide.u32 %d40, %r0, {};\n  add.u64 %d40, %d{array}, %d40;\n",
        4 * count
    );
    for at in 0..count {
        text += &format!(
            "  ld.global.b32 {prefix}{}, [%d40+{}];\n",
            first + at,
            4 * at
        );
    }
    text
}

/// Stores registers to the thread's place in `%d{array}`.
pub(crate) fn results_of_thread(array: usize, regs: &[&str]) -> String {
    let mut text = format!(
        "  mul.wide.u32 %d41, %r0, {};\n  add.u64 %d41, %d{array}, %d41;\n",
        4 * regs.len()
    );
    for (at, reg) in regs.iter().enumerate() {
        text += &format!("  st.global.b32 [%d41+{}], {reg};\n", 4 * at);
    }
    text
}
