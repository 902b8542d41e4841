//! Table rows for arithmetic, comparison, logic and conversion.

pub(super) const INTEGER: &str = "
add T={$int} | =T, T, T | 1.0/10 | 9.7.1.1
add .sat T={s32} | =T, T, T | 1.0/10 | 9.7.1.1
add T={u16x2,s16x2} | =T, T, T | 8.0/90 | 9.7.1.1
sub T={$int} | =T, T, T | 1.0/10 | 9.7.1.2
sub .sat T={s32} | =T, T, T | 1.0/10 | 9.7.1.2
mul .{hi,lo} T={$int} | =T, T, T | 1.0/10 | 9.7.1.3
mul .wide T={u16,u32,s16,s32} | =2T, T, T | 1.0/10 | 9.7.1.3
mad .{hi,lo} T={$int} | =T, T, T, T | 1.0/10 | 9.7.1.4
mad .wide T={u16,u32,s16,s32} | =2T, T, T, 2T | 1.0/10 | 9.7.1.4
mad .hi .sat T={s32} | =T, T, T, T | 1.0/10 | 9.7.1.4
mul24 .{hi,lo} T={u32,s32} | =T, T, T | 1.0/10 | 9.7.1.5
mad24 .{hi,lo} T={u32,s32} | =T, T, T, T | 1.0/10 | 9.7.1.6
mad24 .hi .sat T={s32} | =T, T, T, T | 1.0/10 | 9.7.1.6
sad T={$int} | =T, T, T, T | 1.0/10 | 9.7.1.7
div T={$int} | =T, T, T | 1.0/10 | 9.7.1.8
rem T={$int} | =T, T, T | 1.0/10 | 9.7.1.9
abs T={s16,s32,s64} | =T, T | 1.0/10 | 9.7.1.10
neg T={s16,s32,s64} | =T, T | 1.0/10 | 9.7.1.11
min T={$int,u16x2@8.0/90,s16x2@8.0/90} | =T, T, T | 1.0/10 | 9.7.1.12
min .relu T={s16x2,s32} | =T, T, T | 8.0/90 | 9.7.1.12
max T={$int,u16x2@8.0/90,s16x2@8.0/90} | =T, T, T | 1.0/10 | 9.7.1.13
max .relu T={s16x2,s32} | =T, T, T | 8.0/90 | 9.7.1.13
popc T={b32,b64} | =u32, T | 2.0/20 | 9.7.1.14
clz T={b32,b64} | =u32, T | 2.0/20 | 9.7.1.15
bfind .shiftamt? T={u32,u64,s32,s64} | =u32, T | 2.0/20 | 9.7.1.16
fns T={b32} | =T, T, T, s32 | 6.0/30 | 9.7.1.17
brev T={b32,b64} | =T, T | 2.0/20 | 9.7.1.18
bfe T={u32,u64,s32,s64} | =T, T, u32, u32 | 2.0/20 | 9.7.1.19
bfi T={b32,b64} | =T, T, T, u32, u32 | 2.0/20 | 9.7.1.20
szext .{clamp,wrap} T={u32,s32} | =T, T, u32 | 7.6/70 | 9.7.1.21
bmsk .{clamp,wrap} T={b32} | =T, u32, u32 | 7.6/70 | 9.7.1.22
dp4a T={u32,s32} U={u32,s32} | =u32, T, U, u32 | 5.0/61 | 9.7.1.23
dp2a .{lo,hi} T={u32,s32} U={u32,s32} | =u32, T, U, u32 | 5.0/61 | 9.7.1.24
add .cc T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T | 1.2/10 | 9.7.2.1 | acts own
addc .cc? T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T | 1.2/10 | 9.7.2.2 | acts own
sub .cc T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T | 1.2/10 | 9.7.2.3 | acts own
subc .cc? T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T | 1.2/10 | 9.7.2.4 | acts own
mad .{hi,lo} .cc T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T, T | 3.0/20 | 9.7.2.5 | acts own
madc .{hi,lo} .cc? T={u32,s32,u64@4.3/20,s64@4.3/20} | =T, T, T, T | 3.0/20 | 9.7.2.6 | acts own
";

pub(super) const FLOAT: &str = "
testp .{finite,infinite,number,notanumber,normal,subnormal} T={f32,f64} | =pred, T | 2.0/20 | 9.7.3.1
copysign T={f32,f64} | =T, T, T | 2.0/20 | 9.7.3.2
add .{$rnd}? .ftz? .sat? T={f32} | =T, T, T | 1.0/10 | 9.7.3.3
add .{$rnd}? T={f64} | =T, T, T | 1.0/13 | 9.7.3.3
add .{$rnd}? .ftz? T={f32x2} | =T, T, T | 8.6/100 | 9.7.3.3
add .{$rnd}? .sat? .f32 T={f16,bf16} | =f32, T, f32 | 8.6/100 | 9.7.5.1
sub .{$rnd}? .ftz? .sat? T={f32} | =T, T, T | 1.0/10 | 9.7.3.4
sub .{$rnd}? T={f64} | =T, T, T | 1.0/13 | 9.7.3.4
sub .{$rnd}? .ftz? T={f32x2} | =T, T, T | 8.6/100 | 9.7.3.4
sub .{$rnd}? .sat? .f32 T={f16,bf16} | =f32, T, f32 | 8.6/100 | 9.7.5.2
mul .{$rnd}? .ftz? .sat? T={f32} | =T, T, T | 1.0/10 | 9.7.3.5
mul .{$rnd}? T={f64} | =T, T, T | 1.0/13 | 9.7.3.5
mul .{$rnd}? .ftz? T={f32x2} | =T, T, T | 8.6/100 | 9.7.3.5
fma .{$rnd} .ftz? .sat? T={f32} | =T, T, T, T | 2.0/20 | 9.7.3.6
fma .{$rnd} T={f64} | =T, T, T, T | 1.4/13 | 9.7.3.6
fma .{$rnd} .ftz? T={f32x2} | =T, T, T, T | 8.6/100 | 9.7.3.6
fma .{$rnd} .sat? .f32 T={f16,bf16} | =f32, T, T, f32 | 8.6/100 | 9.7.5.3
mad .{$rnd} .ftz? .sat? T={f32} | =T, T, T, T | 2.0/20 | 9.7.3.7
mad .{$rnd} T={f64} | =T, T, T, T | 1.4/13 | 9.7.3.7
div .approx .ftz? T={f32} | =T, T, T | 1.4/10 | 9.7.3.8
div .full .ftz? T={f32} | =T, T, T | 1.4/10 | 9.7.3.8
div .{$rnd} .ftz? T={f32} | =T, T, T | 2.0/20 | 9.7.3.8
div .{$rnd} T={f64} | =T, T, T | 1.4/13 | 9.7.3.8
abs .ftz? T={f32} | =T, T | 1.0/10 | 9.7.3.9
abs T={f64} | =T, T | 1.0/13 | 9.7.3.9
neg .ftz? T={f32} | =T, T | 1.0/10 | 9.7.3.10
neg T={f64} | =T, T | 1.0/13 | 9.7.3.10
min .ftz? .NaN?@7.0/80 T={f32} | =T, T, T, T? | 1.0/10 | 9.7.3.11
min .ftz? .NaN? .abs T={f32} | =T, T, T, T | 8.8/100 | 9.7.3.11
min .ftz? .NaN? .xorsign .abs T={f32} | =T, T, T | 7.2/86 | 9.7.3.11
min T={f64} | =T, T, T | 1.0/13 | 9.7.3.11
max .ftz? .NaN?@7.0/80 T={f32} | =T, T, T, T? | 1.0/10 | 9.7.3.12
max .ftz? .NaN? .abs T={f32} | =T, T, T, T | 8.8/100 | 9.7.3.12
max .ftz? .NaN? .xorsign .abs T={f32} | =T, T, T | 7.2/86 | 9.7.3.12
max T={f64} | =T, T, T | 1.0/13 | 9.7.3.12
rcp .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.13
rcp .{$rnd} .ftz? T={f32} | =T, T | 2.0/20 | 9.7.3.13
rcp .{$rnd} T={f64} | =T, T | 1.4/13 | 9.7.3.13
rcp .approx .ftz T={f64} | =T, T | 2.1/20 | 9.7.3.14
sqrt .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.15
sqrt .{$rnd} .ftz? T={f32} | =T, T | 2.0/20 | 9.7.3.15
sqrt .{$rnd} T={f64} | =T, T | 1.4/13 | 9.7.3.15
rsqrt .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.16
rsqrt .approx T={f64} | =T, T | 1.4/13 | 9.7.3.16
rsqrt .approx .ftz T={f64} | =T, T | 4.0/20 | 9.7.3.17
sin .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.18
cos .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.19
lg2 .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.20
ex2 .approx .ftz? T={f32} | =T, T | 1.4/10 | 9.7.3.21
tanh .approx T={f32} | =T, T | 7.0/75 | 9.7.3.22
";

pub(super) const HALF: &str = "
add .rn? .ftz? .sat? T={f16,f16x2} | =T, T, T | 4.2/53 | 9.7.4.1
add .rn? T={bf16,bf16x2} | =T, T, T | 7.8/90 | 9.7.4.1
sub .rn? .ftz? .sat? T={f16,f16x2} | =T, T, T | 4.2/53 | 9.7.4.2
sub .rn? T={bf16,bf16x2} | =T, T, T | 7.8/90 | 9.7.4.2
mul .rn? .ftz? .sat? T={f16,f16x2} | =T, T, T | 4.2/53 | 9.7.4.3
mul .rn? T={bf16,bf16x2} | =T, T, T | 7.8/90 | 9.7.4.3
fma .rn .ftz? .sat? T={f16,f16x2} | =T, T, T, T | 4.2/53 | 9.7.4.4
fma .rn .ftz? .relu T={f16,f16x2} | =T, T, T, T | 7.0/80 | 9.7.4.4
fma .rn .relu? T={bf16,bf16x2} | =T, T, T, T | 7.0/80 | 9.7.4.4
neg .ftz? T={f16,f16x2} | =T, T | 6.0/53 | 9.7.4.5
neg T={bf16,bf16x2} | =T, T | 7.0/80 | 9.7.4.5
abs .ftz? T={f16,f16x2} | =T, T | 6.5/53 | 9.7.4.6
abs T={bf16,bf16x2} | =T, T | 7.0/80 | 9.7.4.6
min .ftz? .NaN? T={f16,f16x2} | =T, T, T | 7.0/80 | 9.7.4.7
min .ftz? .NaN? .xorsign .abs T={f16,f16x2} | =T, T, T | 7.2/86 | 9.7.4.7
min .NaN? T={bf16,bf16x2} | =T, T, T | 7.0/80 | 9.7.4.7
min .NaN? .xorsign .abs T={bf16,bf16x2} | =T, T, T | 7.2/86 | 9.7.4.7
max .ftz? .NaN? T={f16,f16x2} | =T, T, T | 7.0/80 | 9.7.4.8
max .ftz? .NaN? .xorsign .abs T={f16,f16x2} | =T, T, T | 7.2/86 | 9.7.4.8
max .NaN? T={bf16,bf16x2} | =T, T, T | 7.0/80 | 9.7.4.8
max .NaN? .xorsign .abs T={bf16,bf16x2} | =T, T, T | 7.2/86 | 9.7.4.8
tanh .approx T={f16,f16x2} | =T, T | 7.0/75 | 9.7.4.9
tanh .approx T={bf16,bf16x2} | =T, T | 7.8/90 | 9.7.4.9
ex2 .approx T={f16,f16x2} | =T, T | 7.0/75 | 9.7.4.10
ex2 .approx .ftz T={bf16,bf16x2} | =T, T | 7.8/90 | 9.7.4.10
";

pub(super) const COMPARE: &str = "
set .{eq,ne} T={u32,s32,f32} U={b16,b32,b64} | =T, U, U | 1.0/10 | 9.7.6.1
set .{eq,ne} .{and,or,xor} T={u32,s32,f32} U={b16,b32,b64} | =T, U, U, !pred | 1.0/10 | 9.7.6.1
set .{eq,ne,lt,le,gt,ge} T={u32,s32,f32} U={s16,s32,s64} | =T, U, U | 1.0/10 | 9.7.6.1
set .{eq,ne,lt,le,gt,ge} .{and,or,xor} T={u32,s32,f32} U={s16,s32,s64} | =T, U, U, !pred | 1.0/10 | 9.7.6.1
set .{eq,ne,lt,le,gt,ge,lo,ls,hi,hs} T={u32,s32,f32} U={u16,u32,u64} | =T, U, U | 1.0/10 | 9.7.6.1
set .{eq,ne,lt,le,gt,ge,lo,ls,hi,hs} .{and,or,xor} T={u32,s32,f32} U={u16,u32,u64} | =T, U, U, !pred | 1.0/10 | 9.7.6.1
set .{$fcmp} .ftz? T={u32,s32,f32} U={f32} | =T, U, U | 1.0/10 | 9.7.6.1
set .{$fcmp} .{and,or,xor} .ftz? T={u32,s32,f32} U={f32} | =T, U, U, !pred | 1.0/10 | 9.7.6.1
set .{$fcmp} T={u32,s32,f32} U={f64} | =T, U, U | 1.0/13 | 9.7.6.1
set .{$fcmp} .{and,or,xor} T={u32,s32,f32} U={f64} | =T, U, U, !pred | 1.0/13 | 9.7.6.1
setp .{eq,ne} T={b16,b32,b64} | =pred_/pred, T, T | 1.0/10 | 9.7.6.2
setp .{eq,ne} .{and,or,xor} T={b16,b32,b64} | =pred_/pred, T, T, !pred | 1.0/10 | 9.7.6.2
setp .{eq,ne,lt,le,gt,ge} T={s16,s32,s64} | =pred_/pred, T, T | 1.0/10 | 9.7.6.2
setp .{eq,ne,lt,le,gt,ge} .{and,or,xor} T={s16,s32,s64} | =pred_/pred, T, T, !pred | 1.0/10 | 9.7.6.2
setp .{eq,ne,lt,le,gt,ge,lo,ls,hi,hs} T={u16,u32,u64} | =pred_/pred, T, T | 1.0/10 | 9.7.6.2
setp .{eq,ne,lt,le,gt,ge,lo,ls,hi,hs} .{and,or,xor} T={u16,u32,u64} | =pred_/pred, T, T, !pred | 1.0/10 | 9.7.6.2
setp .{$fcmp} .ftz? T={f32} | =pred_/pred, T, T | 1.0/10 | 9.7.6.2
setp .{$fcmp} .{and,or,xor} .ftz? T={f32} | =pred_/pred, T, T, !pred | 1.0/10 | 9.7.6.2
setp .{$fcmp} T={f64} | =pred_/pred, T, T | 1.0/13 | 9.7.6.2
setp .{$fcmp} .{and,or,xor} T={f64} | =pred_/pred, T, T, !pred | 1.0/13 | 9.7.6.2
selp T={$b,$int,f32,f64} | =T, T, T, pred | 1.0/10 | 9.7.6.3
slct T={$b,$int,f32,f64} U={s32} | =T, T, T, U | 1.0/10 | 9.7.6.4
slct .ftz? T={$b,$int,f32,f64} U={f32} | =T, T, T, U | 1.0/10 | 9.7.6.4
set .{$fcmp} .ftz? T={f16,u16@6.5/53,s16@6.5/53,u32@6.5/53,s32@6.5/53} U={f16} | =T, U, U | 4.2/53 | 9.7.7.1
set .{$fcmp} .{and,or,xor} .ftz? T={f16,u16@6.5/53,s16@6.5/53,u32@6.5/53,s32@6.5/53} U={f16} | =T, U, U, !pred | 4.2/53 | 9.7.7.1
set .{$fcmp} T={bf16,u16,s16,u32,s32} U={bf16} | =T, U, U | 7.8/90 | 9.7.7.1
set .{$fcmp} .{and,or,xor} T={bf16,u16,s16,u32,s32} U={bf16} | =T, U, U, !pred | 7.8/90 | 9.7.7.1
set .{$fcmp} .ftz? T={f16x2,u32@6.5/53,s32@6.5/53} U={f16x2} | =T, U, U | 4.2/53 | 9.7.7.1
set .{$fcmp} .{and,or,xor} .ftz? T={f16x2,u32@6.5/53,s32@6.5/53} U={f16x2} | =T, U, U, !pred | 4.2/53 | 9.7.7.1
set .{$fcmp} T={bf16x2,u32,s32} U={bf16x2} | =T, U, U | 7.8/90 | 9.7.7.1
set .{$fcmp} .{and,or,xor} T={bf16x2,u32,s32} U={bf16x2} | =T, U, U, !pred | 7.8/90 | 9.7.7.1
setp .{$fcmp} .ftz? T={f16} | =pred_, T, T | 4.2/53 | 9.7.7.2
setp .{$fcmp} .ftz? T={f16x2} | =pred_/pred, T, T | 4.2/53 | 9.7.7.2
setp .{$fcmp} .{and,or,xor} .ftz? T={f16} | =pred_, T, T, !pred | 4.2/53 | 9.7.7.2
setp .{$fcmp} .{and,or,xor} .ftz? T={f16x2} | =pred_/pred, T, T, !pred | 4.2/53 | 9.7.7.2
setp .{$fcmp} T={bf16} | =pred_, T, T | 7.8/90 | 9.7.7.2
setp .{$fcmp} T={bf16x2} | =pred_/pred, T, T | 7.8/90 | 9.7.7.2
setp .{$fcmp} .{and,or,xor} T={bf16} | =pred_, T, T, !pred | 7.8/90 | 9.7.7.2
setp .{$fcmp} .{and,or,xor} T={bf16x2} | =pred_/pred, T, T, !pred | 7.8/90 | 9.7.7.2
";

pub(super) const LOGIC: &str = "
and T={pred,$b} | =T, T, T | 1.0/10 | 9.7.8.1
or T={pred,$b} | =T, T, T | 1.0/10 | 9.7.8.2
xor T={pred,$b} | =T, T, T | 1.0/10 | 9.7.8.3
not T={pred,$b} | =T, T | 1.0/10 | 9.7.8.4
cnot T={$b} | =T, T | 1.0/10 | 9.7.8.5
lop3 T={b32} | =T, T, T, T, # | 4.3/50 | 9.7.8.6
lop3 .{or,and} T={b32} | =T_+pred, T, T, T, #, !pred | 8.2/70 | 9.7.8.6
shf .{l,r} .{clamp,wrap} T={b32} | =T, T, T, u32 | 3.2/32 | 9.7.8.7
shl T={$b} | =T, T, u32 | 1.0/10 | 9.7.8.8
shr T={$b,$int} | =T, T, u32 | 1.0/10 | 9.7.8.9
prmt T={b32} .{f4e,b4e,rc8,ecl,ecr,rc16}? | =T, T, T, T | 2.0/20 | 9.7.9.7
";

pub(super) const CONVERT: &str = "
cvt .sat? T={$int8} U={$int8} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .{$rnd} .ftz? .sat? T={f32} U={$int8} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .{$rnd} .sat? T={f64,f16} U={$int8} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{$rni} .ftz? .sat? T={$int8} U={f32} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .{$rni} .sat? T={$int8} U={f64,f16} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{$rni}? .ftz? .sat? T={f32} U={f32} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .{$rni}? .sat? T={f64} U={f64} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{$rni}? .sat? T={f16} U={f16} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .ftz? .sat? T={f32} U={f16} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .sat? T={f64} U={f16} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .ftz? .sat? T={f64} U={f32} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{$rnd} .ftz? .sat? T={f16} U={f32} | =T~, U~ | 1.0/10 | 9.7.9.21
cvt .{$rnd} .sat? T={f16} U={f64} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{rn,rz} .relu T={f16} U={f32} | =T~, U~ | 7.0/80 | 9.7.9.21
cvt .{$rnd} .ftz? .sat? T={f32} U={f64} | =T~, U~ | 1.0/13 | 9.7.9.21
cvt .{rn,rz} .relu? .satfinite?@8.1/80 T={bf16} U={f32} | =T~, U~ | 7.0/80 | 9.7.9.21
cvt .{rm,rp} T={bf16} U={f32} | =T~, U~ | 7.8/90 | 9.7.9.21
cvt .{rn,rz} .relu? .satfinite?@8.1/80 T={f16x2,bf16x2} U={f32} | =T, U, U | 7.0/80 | 9.7.9.21
cvt .rna .satfinite?@8.1/80 T={tf32} U={f32} | =T, U | 7.0/80 | 9.7.9.21
cvt .{rn,rz} .relu? .satfinite?@8.6/100 T={tf32} U={f32} | =T, U | 7.8/90 | 9.7.9.21
cvt T={f32} U={bf16} | =T~, U~ | 7.1/90 | 9.7.9.21
cvt T={f64} U={bf16} | =T~, U~ | 7.8/90 | 9.7.9.21
cvt .{$rnd} T={bf16} U={$int,f16,f64} | =T~, U~ | 7.8/90 | 9.7.9.21
cvt .{$rni} T={$int,bf16} U={bf16} | =T~, U~ | 7.8/90 | 9.7.9.21
cvt .rn .satfinite .relu? T={e4m3x2,e5m2x2} U={f32} | =T, U, U | 7.8/90 8.1/89 | 9.7.9.21
cvt .rn .satfinite .relu? T={e4m3x2,e5m2x2} U={f16x2} | =T, U | 7.8/90 8.1/89 | 9.7.9.21
cvt .rn .relu? T={f16x2} U={e4m3x2,e5m2x2} | =T, U | 7.8/90 8.1/89 | 9.7.9.21
cvt .pack .sat T={u16,s16} U={s32} | =u32, U, U | 6.5/72 | 9.7.9.22
cvt .pack .sat T={u8,s8,u4@6.5/75,s4@6.5/75} U={s32} .b32 | =u32, U, U, b32 | 6.5/72 | 9.7.9.22
";

pub(super) const VIDEO: &str = "
vadd T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V | 2.0/20 | 9.7.19.1
vadd T={u32,s32} U={u32,s32} V={u32,s32} .sat? .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.1
vsub T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V | 2.0/20 | 9.7.19.1
vsub T={u32,s32} U={u32,s32} V={u32,s32} .sat? .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.1
vabsdiff T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V | 2.0/20 | 9.7.19.1
vabsdiff T={u32,s32} U={u32,s32} V={u32,s32} .sat? .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.1
vmin T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V | 2.0/20 | 9.7.19.1
vmin T={u32,s32} U={u32,s32} V={u32,s32} .sat? .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.1
vmax T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V | 2.0/20 | 9.7.19.1
vmax T={u32,s32} U={u32,s32} V={u32,s32} .sat? .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.1
vshl T={u32,s32} U={u32,s32} V={u32} .sat? .{clamp,wrap} | =T, U, V | 2.0/20 | 9.7.19.2
vshl T={u32,s32} U={u32,s32} V={u32} .sat? .{clamp,wrap} .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.2
vshr T={u32,s32} U={u32,s32} V={u32} .sat? .{clamp,wrap} | =T, U, V | 2.0/20 | 9.7.19.2
vshr T={u32,s32} U={u32,s32} V={u32} .sat? .{clamp,wrap} .{add,min,max} | =T, U, V, T | 2.0/20 | 9.7.19.2
vmad T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 2.0/20 | 9.7.19.3
vset U={u32,s32} V={u32,s32} .{eq,ne,lt,le,gt,ge} | =u32, U, V | 2.0/20 | 9.7.19.4
vset U={u32,s32} V={u32,s32} .{eq,ne,lt,le,gt,ge} .{add,min,max} | =u32, U, V, u32 | 2.0/20 | 9.7.19.4
vadd2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vadd2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vsub2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vsub2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vavrg2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vavrg2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vabsdiff2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vabsdiff2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vmin2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vmin2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vmax2 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.5
vmax2 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.5
vset2 U={u32,s32} V={u32,s32} .{eq,ne,lt,le,gt,ge} .add? | =u32, U, V, u32 | 3.0/30 | 9.7.19.6
vadd4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vadd4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vsub4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vsub4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vavrg4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vavrg4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vabsdiff4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vabsdiff4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vmin4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vmin4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vmax4 T={u32,s32} U={u32,s32} V={u32,s32} .sat? | =T, U, V, T | 3.0/30 | 9.7.19.7
vmax4 T={u32,s32} U={u32,s32} V={u32,s32} .add | =T, U, V, T | 3.0/30 | 9.7.19.7
vset4 U={u32,s32} V={u32,s32} .{eq,ne,lt,le,gt,ge} .add? | =u32, U, V, u32 | 3.0/30 | 9.7.19.8
";
