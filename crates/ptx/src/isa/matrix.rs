//! Table rows for matrix instructions.

pub(super) const MATRIX: &str = "
wmma .load .{a,b} .sync .aligned .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .{global,shared,shared::cta@7.8/70}? .f16 | ={8 f16x2}, [], u32? | 6.0/70 | 9.7.14.4.3
wmma .load .c .sync .aligned .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .{global,shared,shared::cta@7.8/70}? .f16 | ={4 f16x2}, [], u32? | 6.0/70 | 9.7.14.4.3
wmma .load .c .sync .aligned .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .{global,shared,shared::cta@7.8/70}? .f32 | ={8 f32}, [], u32? | 6.0/70 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m16n16k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={2 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m16n16k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={2 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m8n32k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={1 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m8n32k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={4 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m32n8k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={4 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m32n8k16 .{global,shared,shared::cta@7.8/72}? .{u8,s8} | ={1 b32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .c .sync .aligned .{row,col} .{m16n16k16,m8n32k16,m32n8k16} .{global,shared,shared::cta@7.8/72}? .s32 | ={8 s32}, [], u32? | 6.3/72 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m16n16k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={4 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m16n16k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={4 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m8n32k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={2 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m8n32k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={8 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .load .a .sync .aligned .{row,col} .m32n8k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={8 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .load .b .sync .aligned .{row,col} .m32n8k16 .{global,shared,shared::cta@7.8/80}? .bf16 | ={2 b32}, [], u32? | 7.0/80 | 9.7.14.4.3
wmma .store .d .sync .aligned .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .{global,shared,shared::cta@7.8/70}? .f16 | [], {4 f16x2}, u32? | 6.0/70 | 9.7.14.4.4 | acts own warp
wmma .store .d .sync .aligned .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .{global,shared,shared::cta@7.8/70}? .f32 | [], {8 f32}, u32? | 6.0/70 | 9.7.14.4.4 | acts own warp
wmma .store .d .sync .aligned .{row,col} .{m16n16k16,m8n32k16,m32n8k16} .{global,shared,shared::cta@7.8/72}? .s32 | [], {8 s32}, u32? | 6.3/72 | 9.7.14.4.4 | acts own warp
wmma .mma .sync .aligned .{row,col} .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .f16 .f16 | ={4 f16x2}, {8 f16x2}, {8 f16x2}, {4 f16x2} | 6.0/70 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .f16 .f32 | ={4 f16x2}, {8 f16x2}, {8 f16x2}, {8 f32} | 6.0/70 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .f32 .f16 | ={8 f32}, {8 f16x2}, {8 f16x2}, {4 f16x2} | 6.0/70 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .{m16n16k16,m8n32k16@6.1/70,m32n8k16@6.1/70} .f32 .f32 | ={8 f32}, {8 f16x2}, {8 f16x2}, {8 f32} | 6.0/70 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m16n16k16 .s32 .u8 .u8 .s32 .satfinite? | ={8 s32}, {2 b32}, {2 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m16n16k16 .s32 .s8 .s8 .s32 .satfinite? | ={8 s32}, {2 b32}, {2 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m8n32k16 .s32 .u8 .u8 .s32 .satfinite? | ={8 s32}, {1 b32}, {4 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m8n32k16 .s32 .s8 .s8 .s32 .satfinite? | ={8 s32}, {1 b32}, {4 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m32n8k16 .s32 .u8 .u8 .s32 .satfinite? | ={8 s32}, {4 b32}, {1 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m32n8k16 .s32 .s8 .s8 .s32 .satfinite? | ={8 s32}, {4 b32}, {1 b32}, {8 s32} | 6.3/72 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m16n16k16 .f32 .bf16 .bf16 .f32 | ={8 f32}, {4 b32}, {4 b32}, {8 f32} | 7.0/80 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m8n32k16 .f32 .bf16 .bf16 .f32 | ={8 f32}, {2 b32}, {8 b32}, {8 f32} | 7.0/80 | 9.7.14.4.5
wmma .mma .sync .aligned .{row,col} .{row,col} .m32n8k16 .f32 .bf16 .bf16 .f32 | ={8 f32}, {8 b32}, {2 b32}, {8 f32} | 7.0/80 | 9.7.14.4.5
mma .sync .aligned .m8n8k4 .{row,col} .{row,col} .f16 .f16 .f16 .f16 | ={4 f16x2}, {2 f16x2}, {2 f16x2}, {4 f16x2} | 6.4/70 | 9.7.14.5.14
mma .sync .aligned .m8n8k4 .{row,col} .{row,col} .f32 .f16 .f16 .f16 | ={8 f32}, {2 f16x2}, {2 f16x2}, {4 f16x2} | 6.4/70 | 9.7.14.5.14
mma .sync .aligned .m8n8k4 .{row,col} .{row,col} .f32 .f16 .f16 .f32 | ={8 f32}, {2 f16x2}, {2 f16x2}, {8 f32} | 6.4/70 | 9.7.14.5.14
mma .sync .aligned .m16n8k8 .row .col .f16 .f16 .f16 .f16 | ={2 f16x2}, {2 f16x2}, {1 f16x2}, {2 f16x2} | 6.5/75 | 9.7.14.5.14
mma .sync .aligned .m16n8k8 .row .col .f32 .f16 .f16 .f32 | ={4 f32}, {2 f16x2}, {1 f16x2}, {4 f32} | 6.5/75 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .f16 .f16 .f16 .f16 | ={2 f16x2}, {4 f16x2}, {2 f16x2}, {2 f16x2} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .f32 .f16 .f16 .f32 | ={4 f32}, {4 f16x2}, {2 f16x2}, {4 f32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k8 .row .col .f32 .bf16 .bf16 .f32 | ={4 f32}, {2 b32}, {1 b32}, {4 f32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .f32 .bf16 .bf16 .f32 | ={4 f32}, {4 b32}, {2 b32}, {4 f32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k4 .row .col .f32 .tf32 .tf32 .f32 | ={4 f32}, {2 b32}, {1 b32}, {4 f32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k8 .row .col .f32 .tf32 .tf32 .f32 | ={4 f32}, {4 b32}, {2 b32}, {4 f32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m8n8k4 .row .col .f64 .f64 .f64 .f64 | ={2 f64}, {1 f64}, {1 f64}, {2 f64} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k4 .row .col .f64 .f64 .f64 .f64 | ={4 f64}, {2 f64}, {1 f64}, {4 f64} | 7.8/90 | 9.7.14.5.14
mma .sync .aligned .m16n8k8 .row .col .f64 .f64 .f64 .f64 | ={4 f64}, {4 f64}, {2 f64}, {4 f64} | 7.8/90 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .f64 .f64 .f64 .f64 | ={4 f64}, {8 f64}, {4 f64}, {4 f64} | 7.8/90 | 9.7.14.5.14
mma .sync .aligned .m8n8k16 .row .col .satfinite? .s32 .{u8,s8} .{u8,s8} .s32 | ={2 s32}, {1 b32}, {1 b32}, {2 s32} | 6.5/75 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .satfinite? .s32 .{u8,s8} .{u8,s8} .s32 | ={4 s32}, {2 b32}, {1 b32}, {4 s32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k32 .row .col .satfinite? .s32 .{u8,s8} .{u8,s8} .s32 | ={4 s32}, {4 b32}, {2 b32}, {4 s32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m8n8k32 .row .col .satfinite? .s32 .{u4,s4} .{u4,s4} .s32 | ={2 s32}, {1 b32}, {1 b32}, {2 s32} | 6.5/75 | 9.7.14.5.14
mma .sync .aligned .m16n8k32 .row .col .satfinite? .s32 .{u4,s4} .{u4,s4} .s32 | ={4 s32}, {2 b32}, {1 b32}, {4 s32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k64 .row .col .satfinite? .s32 .{u4,s4} .{u4,s4} .s32 | ={4 s32}, {4 b32}, {2 b32}, {4 s32} | 7.0/80 | 9.7.14.5.14
mma .sync .aligned .m16n8k32 .row .col .f32 .{e4m3,e5m2} .{e4m3,e5m2} .f32 | ={4 f32}, {4 b32}, {2 b32}, {4 f32} | 8.4/89 | 9.7.14.5.14
mma .sync .aligned .m16n8k16 .row .col .f32 .{e4m3,e5m2} .{e4m3,e5m2} .f32 | ={4 f32}, {2 b32}, {1 b32}, {4 f32} | 8.7/89 | 9.7.14.5.14
mma .sync .aligned .m16n8k32 .row .col .kind::f8f6f4 .f32 .{e4m3,e5m2,e3m2,e2m3,e2m1} .{e4m3,e5m2,e3m2,e2m3,e2m1} .f32 | ={4 f32}, {4 b32}, {2 b32}, {4 f32} | 8.7/120a 8.8/120f | 9.7.14.5.14
mma .sync .aligned .m16n8k32 .row .col .kind::mxf8f6f4 .block_scale .scale_vec::1X? .f32 .{e4m3,e5m2,e3m2,e2m3,e2m1} .{e4m3,e5m2,e3m2,e2m3,e2m1} .f32 .ue8m0 | ={4 f32}, {4 b32}, {2 b32}, {4 f32}, b32, {2 u16}, b32, {2 u16} | 8.7/120a 8.8/120f | 9.7.14.5.14
mma .sync .aligned .m16n8k64 .row .col .kind::mxf4 .block_scale .scale_vec::2X? .f32 .e2m1 .e2m1 .f32 .ue8m0 | ={4 f32}, {4 b32}, {2 b32}, {4 f32}, b32, {2 u16}, b32, {2 u16} | 8.7/120a 8.8/120f | 9.7.14.5.14
mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::2X .f32 .e2m1 .e2m1 .f32 .ue8m0 | ={4 f32}, {4 b32}, {2 b32}, {4 f32}, b32, {2 u16}, b32, {2 u16} | 8.7/120a 8.8/120f | 9.7.14.5.14
mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::4X .f32 .e2m1 .e2m1 .f32 .ue4m3 | ={4 f32}, {4 b32}, {2 b32}, {4 f32}, b32, {2 u16}, b32, {2 u16} | 8.7/120a 8.8/120f | 9.7.14.5.14
mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::4X .f32 .e2m1 .e2m1 .f32 .ue8m0 | ={4 f32}, {4 b32}, {2 b32}, {4 f32}, b32, {2 u16}, b32, {2 u16} | 9.1/120a 9.1/120f | 9.7.14.5.14
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k16 .row .col .f16 .f16 .f16 .f16 | ={2 f16x2}, {2 b32}, {2 b32}, {2 f16x2}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k16 .row .col .f32 .f16 .f16 .f32 | ={4 f32}, {2 b32}, {2 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k16 .row .col .f32 .bf16 .bf16 .f32 | ={4 f32}, {2 b32}, {2 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k32 .row .col .f16 .f16 .f16 .f16 | ={2 f16x2}, {4 b32}, {4 b32}, {2 f16x2}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k32 .row .col .f32 .f16 .f16 .f32 | ={4 f32}, {4 b32}, {4 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k32 .row .col .f32 .bf16 .bf16 .f32 | ={4 f32}, {4 b32}, {4 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k8 .row .col .f32 .tf32 .tf32 .f32 | ={4 f32}, {2 b32}, {2 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k16 .row .col .f32 .tf32 .tf32 .f32 | ={4 f32}, {4 b32}, {4 b32}, {4 f32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k32 .row .col .satfinite? .s32 .{u8,s8} .{u8,s8} .s32 | ={4 s32}, {2 b32}, {2 b32}, {4 s32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k64 .row .col .satfinite? .s32 .{u8,s8} .{u8,s8} .s32 | ={4 s32}, {4 b32}, {4 b32}, {4 s32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k64 .row .col .satfinite? .s32 .{u4,s4} .{u4,s4} .s32 | ={4 s32}, {2 b32}, {2 b32}, {4 s32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k128 .row .col .satfinite? .s32 .{u4,s4} .{u4,s4} .s32 | ={4 s32}, {4 b32}, {4 b32}, {4 s32}, b32, # | 7.1/80 | 9.7.14.6.3
mma .{sp,sp::ordered_metadata@8.5/80} .sync .aligned .m16n8k64 .row .col .f32 .{e4m3,e5m2} .{e4m3,e5m2} .f32 | ={4 f32}, {4 b32}, {4 b32}, {4 f32}, b32, # | 8.4/89 | 9.7.14.6.3
ldmatrix .sync .aligned .m8n8 .x1 .trans? .{shared,shared::cta@7.8/75}? .b16 | ={1 b32}, [] | 6.5/75 | 9.7.14.5.15
ldmatrix .sync .aligned .m8n8 .x2 .trans? .{shared,shared::cta@7.8/75}? .b16 | ={2 b32}, [] | 6.5/75 | 9.7.14.5.15
ldmatrix .sync .aligned .m8n8 .x4 .trans? .{shared,shared::cta@7.8/75}? .b16 | ={4 b32}, [] | 6.5/75 | 9.7.14.5.15
stmatrix .sync .aligned .m8n8 .x1 .trans? .{shared,shared::cta}? .b16 | [], {1 b32} | 7.8/90 | 9.7.14.5.16 | acts own warp
stmatrix .sync .aligned .m8n8 .x2 .trans? .{shared,shared::cta}? .b16 | [], {2 b32} | 7.8/90 | 9.7.14.5.16 | acts own warp
stmatrix .sync .aligned .m8n8 .x4 .trans? .{shared,shared::cta}? .b16 | [], {4 b32} | 7.8/90 | 9.7.14.5.16 | acts own warp
movmatrix .sync .aligned .m8n8 .trans .b16 | =b32, b32 | 7.8/75 | 9.7.14.5.17
wgmma .fence .sync .aligned | | 8.0/90a | 9.7.15.7.1 | acts own warp
wgmma .commit_group .sync .aligned | | 8.0/90a | 9.7.15.7.2 | acts own warp
wgmma .wait_group .sync .aligned | # | 8.0/90a | 9.7.15.7.3 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma16} .f32 .f16 .f16 | ={* f32}, wgmma, b64, !pred, #, #, #, #? | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma16} .f16 .f16 .f16 | ={* f16x2}, wgmma, b64, !pred, #, #, #, #? | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma16} .f32 .bf16 .bf16 | ={* f32}, wgmma, b64, !pred, #, #, #, #? | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma8} .f32 .tf32 .tf32 | ={* f32}, wgmma, b64, !pred, #, # | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma32} .f32 .{e4m3,e5m2} .{e4m3,e5m2} | ={* f32}, wgmma, b64, !pred, #, # | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma32} .f16 .{e4m3,e5m2} .{e4m3,e5m2} | ={* f16x2}, wgmma, b64, !pred, #, # | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .satfinite? .s32 .s8 .s8 | ={* s32}, wgmma, b64, !pred | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .s32 .s8 .s8 .satfinite | ={* s32}, wgmma, b64, !pred | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .satfinite? .s32 .u8 .u8 | ={* s32}, wgmma, b64, !pred | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .s32 .u8 .u8 .satfinite | ={* s32}, wgmma, b64, !pred | 8.0/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .satfinite? .s32 .s8 .u8 | ={* s32}, wgmma, b64, !pred | 8.4/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .s32 .s8 .u8 .satfinite | ={* s32}, wgmma, b64, !pred | 8.4/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .satfinite? .s32 .u8 .s8 | ={* s32}, wgmma, b64, !pred | 8.4/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmmas8} .s32 .u8 .s8 .satfinite | ={* s32}, wgmma, b64, !pred | 8.4/90a | 9.7.15.5.2 | acts own warp
wgmma .mma_async .sync .aligned .{$wgmma256} .s32 .b1 .b1 .and .popc | ={* s32}, wgmma, b64, !pred | 8.0/90a | 9.7.15.5.2 | acts own warp
tcgen05 .alloc .cta_group::1 .sync .aligned .shared::cta? .b32 | [], b32 | 8.6/100f 8.6/101f | 9.7.16.7.1 | acts own warp
tcgen05 .dealloc .cta_group::1 .sync .aligned .b32 | b32, b32 | 8.6/100f 8.6/101f | 9.7.16.7.1 | acts own warp
tcgen05 .relinquish_alloc_permit .cta_group::1 .sync .aligned | | 8.6/100f 8.6/101f | 9.7.16.7.1 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x1 .pack::16b? .b32 | ={1 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x1 .unpack::16b? .b32 | [tmem], {1 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x1 .pack::16b? .b32 | ={2 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x1 .unpack::16b? .b32 | [tmem], {2 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x1 .pack::16b? .b32 | ={4 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x1 .unpack::16b? .b32 | [tmem], {4 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x1 .pack::16b? .b32 | ={1 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x1 .unpack::16b? .b32 | [tmem], #, {1 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x2 .pack::16b? .b32 | ={2 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x2 .unpack::16b? .b32 | [tmem], {2 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x2 .pack::16b? .b32 | ={4 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x2 .unpack::16b? .b32 | [tmem], {4 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x2 .pack::16b? .b32 | ={8 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x2 .unpack::16b? .b32 | [tmem], {8 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x2 .pack::16b? .b32 | ={2 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x2 .unpack::16b? .b32 | [tmem], #, {2 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x4 .pack::16b? .b32 | ={4 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x4 .unpack::16b? .b32 | [tmem], {4 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x4 .pack::16b? .b32 | ={8 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x4 .unpack::16b? .b32 | [tmem], {8 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x4 .pack::16b? .b32 | ={16 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x4 .unpack::16b? .b32 | [tmem], {16 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x4 .pack::16b? .b32 | ={4 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x4 .unpack::16b? .b32 | [tmem], #, {4 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x8 .pack::16b? .b32 | ={8 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x8 .unpack::16b? .b32 | [tmem], {8 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x8 .pack::16b? .b32 | ={16 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x8 .unpack::16b? .b32 | [tmem], {16 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x8 .pack::16b? .b32 | ={32 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x8 .unpack::16b? .b32 | [tmem], {32 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x8 .pack::16b? .b32 | ={8 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x8 .unpack::16b? .b32 | [tmem], #, {8 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x16 .pack::16b? .b32 | ={16 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x16 .unpack::16b? .b32 | [tmem], {16 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x16 .pack::16b? .b32 | ={32 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x16 .unpack::16b? .b32 | [tmem], {32 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x16 .pack::16b? .b32 | ={64 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x16 .unpack::16b? .b32 | [tmem], {64 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x16 .pack::16b? .b32 | ={16 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x16 .unpack::16b? .b32 | [tmem], #, {16 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x32 .pack::16b? .b32 | ={32 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x32 .unpack::16b? .b32 | [tmem], {32 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x32 .pack::16b? .b32 | ={64 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x32 .unpack::16b? .b32 | [tmem], {64 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x256b .x32 .pack::16b? .b32 | ={128 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x256b .x32 .unpack::16b? .b32 | [tmem], {128 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x32 .pack::16b? .b32 | ={32 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x32 .unpack::16b? .b32 | [tmem], #, {32 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x64 .pack::16b? .b32 | ={64 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x64 .unpack::16b? .b32 | [tmem], {64 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x128b .x64 .pack::16b? .b32 | ={128 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x128b .x64 .unpack::16b? .b32 | [tmem], {128 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x64 .pack::16b? .b32 | ={64 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x64 .unpack::16b? .b32 | [tmem], #, {64 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .{32x32b,16x64b} .x128 .pack::16b? .b32 | ={128 b32}, [tmem] | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .{32x32b,16x64b} .x128 .unpack::16b? .b32 | [tmem], {128 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .ld .sync .aligned .16x32bx2 .x128 .pack::16b? .b32 | ={128 b32}, [tmem], # | 8.6/100f 8.6/101f | 9.7.16.8.1 | acts own warp
tcgen05 .st .sync .aligned .16x32bx2 .x128 .unpack::16b? .b32 | [tmem], #, {128 b32} | 8.6/100f 8.6/101f | 9.7.16.8.2 | acts own warp
tcgen05 .{wait::ld,wait::st} .sync .aligned | | 8.6/100f 8.6/101f | 9.7.16.8.3 | acts own warp
tcgen05 .{fence::before_thread_sync,fence::after_thread_sync} | | 8.6/100f 8.6/101f | 9.7.16.11.1 | acts own
tcgen05 .commit .cta_group::1 .mbarrier::arrive::one .shared::cluster? .b64 | [] | 8.6/100f 8.6/101f | 9.7.16.12.1 | acts own
tcgen05 .cp .cta_group::1 .{128x256b,128x128b} | [tmem], b64 | 8.6/100f 8.6/101f | 9.7.16.9.2 | acts own
tcgen05 .cp .cta_group::1 .64x128b .{warpx2::02_13,warpx2::01_23} | [tmem], b64 | 8.6/100f 8.6/101f | 9.7.16.9.2 | acts own
tcgen05 .cp .cta_group::1 .32x128b .warpx4 | [tmem], b64 | 8.6/100f 8.6/101f | 9.7.16.9.2 | acts own
tcgen05 .mma .cta_group::1 .{kind::f16,kind::tf32} .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, enable, enable?, enable? | 8.6/100f 8.6/101f | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::f8f6f4 .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, enable, enable? | 8.6/100f 8.6/101f | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::i8 .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, enable, enable? | 8.6/100a 8.6/101a 9.0/110a | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf8f6f4 .block_scale .scale_vec::1X .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.6/100a 8.6/101a 8.8/103a 9.0/110a | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf8f6f4 .block_scale .block32@8.8/100? .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.6/100f 8.6/101f | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf4 .block_scale .scale_vec::2X .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.6/100a 8.6/101a 8.8/103a 9.0/110a | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf4 .block_scale .block32@8.8/100? .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.6/100f 8.6/101f | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf4nvf4 .block_scale .{scale_vec::2X,scale_vec::4X} .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.7/100a 8.7/101a 8.8/103a 9.0/110a | 9.7.16.10.9.1 | acts own
tcgen05 .mma .cta_group::1 .kind::mxf4nvf4 .block_scale .{block16,block32} .{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}? | [tmem], tmma, b64, b32, [tmem], [tmem], !pred | 8.8/100f 8.8/101f | 9.7.16.10.9.1 | acts own
";
