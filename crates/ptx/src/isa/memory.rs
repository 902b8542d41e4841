//! Table rows for data movement, atomics, asynchronous copies and textures.

pub(super) const MOVE: &str = "
mov T={pred,$b,b128@8.3/70,$int,f32,f64} | =@T, @T | 1.0/10 | 9.7.9.3
shfl .sync .{up,down,bfly,idx} T={b32} | =T/pred, T, u32, u32, b32 | 6.0/30 | 9.7.9.6 | acts own mask
cvta .{const,global,shared,shared::cta@7.8/30,shared::cluster@7.8/90,param@7.7/70} T={u32,u64} | =T, &T | 2.0/20 | 9.7.9.20
cvta .local T={u32,u64} | =T, &T | 2.0/20 | 9.7.9.20 | same own
cvta .to .{const,global,shared,shared::cta@7.8/30,shared::cluster@7.8/90,param@7.7/70} T={u32,u64} | =T, T | 2.0/20 | 9.7.9.20
cvta .to .local T={u32,u64} | =T, T | 2.0/20 | 9.7.9.20 | same own
isspacep .{global,local,shared,const@3.1/20,shared::cta@7.8/30,shared::cluster@7.8/90,param@7.7/70} | =pred, addr | 2.0/20 | 9.7.9.19
prefetch .{global,local} .{L1,L2} | [] | 2.0/20 | 9.7.9.15 | acts
prefetch .{L1,L2} | [] | 2.0/20 | 9.7.9.15 | acts
prefetch .global .{L2::evict_last,L2::evict_normal} | [] | 7.4/80 | 9.7.9.15 | acts
prefetch .{param,const}? .tensormap | [] | 8.0/90 | 9.7.9.15 | acts
prefetchu .L1 | [] | 2.0/20 | 9.7.9.15 | acts
applypriority .global? .L2::evict_normal | [], # | 7.4/80 | 9.7.9.16 | acts
discard .global? .L2 | [], # | 7.4/80 | 9.7.9.17 | acts
createpolicy .fractional .{L2::evict_last,L2::evict_normal,L2::evict_first,L2::evict_unchanged} .{L2::evict_first,L2::evict_unchanged}? .b64 | =b64, f32? | 7.4/80 | 9.7.9.18
createpolicy .range .global? .{L2::evict_last,L2::evict_normal,L2::evict_first,L2::evict_unchanged} .{L2::evict_first,L2::evict_unchanged}? .b64 | =b64, [], u32, u32 | 7.4/80 | 9.7.9.18
createpolicy .cvt .L2 .b64 | =b64, b64 | 7.4/80 | 9.7.9.18
mapa .shared::cluster? T={u32,u64} | =T, &T, u32 | 7.8/90 | 9.7.9.23
getctarank .shared::cluster? T={u32,u64} | =u32, &T | 7.8/90 | 9.7.9.24
istypep .{texref,samplerref,surfref} | =pred, &u64 | 4.0/30 | 9.7.11.3
";

pub(super) const LOAD_STORE: &str = "
ld < .weak?@6.0/70 .{$ldspace}? .{ca,cg,cs,lu,cv}? .{$evict}? .{$prefetch}? .L2::cache_hint?@7.4/80 .{v2,v4,v8@8.8/100}? > T={$mem} | =<T>, [], hint | 1.0/10 | 9.7.9.8 | pure
ld < .volatile .{$volspace}? .{$prefetch}? .{v2,v4,v8@8.8/100}? > T={$mem} | =<T>, [] | 1.1/10 | 9.7.9.8 | acts own
ld < .{relaxed,acquire} .{$scope} .{global,shared,shared::cta@7.8/30,shared::cluster@7.8/90}? .{$evict}? .{$prefetch}? .L2::cache_hint?@7.4/80 .{v2,v4,v8@8.8/100}? > T={$mem} | =<T>, [], hint | 6.0/70 | 9.7.9.8 | acts own
ld < .mmio .relaxed .sys .global? > T={$mem} | =T~, [] | 8.2/70 | 9.7.9.8 | acts own
ld < .global .nc .{ca,cg,cs}? .{$evict}? .{$prefetch}? .L2::cache_hint?@7.4/80 .{v2,v4,v8@8.8/100}? > T={$mem} | =<T>, [], hint | 3.1/32 | 9.7.9.9 | same
ldu .global? T={b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} | =T~, [] | 2.0/20 | 9.7.9.10 | pure
ldu .global? .v2 T={b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} | =<T>, [] | 2.0/20 | 9.7.9.10 | pure
ldu .global? .v4 T={b8,b16,b32,u8,u16,u32,s8,s16,s32,f32} | =<T>, [] | 2.0/20 | 9.7.9.10 | pure
st < .weak?@6.0/70 .{$stspace}? .{wb,cg,cs,wt}? .{$evict}? .L2::cache_hint?@7.4/80 .{v2,v4,v8@8.8/100}? > T={$mem} | [], <T>, hint | 1.0/10 | 9.7.9.11
st < .volatile .{$volspace}? .{v2,v4,v8@8.8/100}? > T={$mem} | [], <T> | 1.1/10 | 9.7.9.11
st < .{relaxed,release} .{$scope} .{global,shared,shared::cta@7.8/30,shared::cluster@7.8/90}? .{$evict}? .L2::cache_hint?@7.4/80 .{v2,v4,v8@8.8/100}? > T={$mem} | [], <T>, hint | 6.0/70 | 9.7.9.11
st < .mmio .relaxed .sys .global? > T={$mem} | [], T~ | 8.2/70 | 9.7.9.11
st .async < .weak? .shared::cluster? > .mbarrier::complete_tx::bytes .{v2,v4}? T={b32,b64,u32,u64,s32,s64,f32,f64} | [], <T>, [shared] | 8.1/90 | 9.7.9.12
";

pub(super) const ATOMIC: &str = "
atom < $atomics .add .L2::cache_hint?@7.4/80 > T={u32,s32,u64,f32@2.0/20,f64@5.0/60} | =T_, [], T, hint | 1.2/20 | 9.7.13.5
atom < $atomics .add .noftz .L2::cache_hint?@7.4/80 > T={f16x2,f16@6.3/70,bf16@7.8/90,bf16x2@7.8/90} | =T_, [], T, hint | 6.2/60 | 9.7.13.5
atom < .{relaxed,acquire,release,acq_rel}? .{cta,gpu,sys,cluster}? .global? .add .L2::cache_hint? > .{v2,v4} T={f32} | =<T>, [], <T>, hint | 8.1/90 | 9.7.13.5
atom < .{relaxed,acquire,release,acq_rel}? .{cta,gpu,sys,cluster}? .global? .add .noftz .L2::cache_hint? > .{v2,v4,v8} T={f16,bf16} | =<T>, [], <T>, hint | 8.1/90 | 9.7.13.5
atom < .{relaxed,acquire,release,acq_rel}? .{cta,gpu,sys,cluster}? .global? .add .noftz .L2::cache_hint? > .{v2,v4} T={f16x2,bf16x2} | =<T>, [], <T>, hint | 8.1/90 | 9.7.13.5
atom < $atomics .{and,or,xor} .L2::cache_hint?@7.4/80 > T={b32,b64@3.1/32} | =T_, [], T, hint | 1.2/20 | 9.7.13.5
atom < $atomics .exch .L2::cache_hint?@7.4/80 > T={b32,b64,b128@8.3/90} | =T_, [], T, hint | 1.2/20 | 9.7.13.5
atom < $atomics .cas > T={b16} | =T_, [], T, T | 6.3/70 | 9.7.13.5
atom < $atomics .cas > T={b32,b64,b128@8.3/90} | =T_, [], T, T | 1.2/20 | 9.7.13.5
atom < $atomics .{inc,dec} .L2::cache_hint?@7.4/80 > T={u32} | =T_, [], T, hint | 1.2/20 | 9.7.13.5
atom < $atomics .{min,max} .L2::cache_hint?@7.4/80 > T={u32,s32,u64@3.1/32,s64@3.1/32} | =T_, [], T, hint | 1.2/20 | 9.7.13.5
red < $reductions .add .L2::cache_hint?@7.4/80 > T={u32,s32,u64,f32@2.0/20,f64@5.0/60} | [], T, hint | 1.2/20 | 9.7.13.7
red < $reductions .add .noftz .L2::cache_hint?@7.4/80 > T={f16x2,f16@6.3/70,bf16@7.8/90,bf16x2@7.8/90} | [], T, hint | 6.2/60 | 9.7.13.7
red < .{relaxed,release}? .{cta,gpu,sys,cluster}? .global? .add .L2::cache_hint? > .{v2,v4} T={f32} | [], <T>, hint | 8.1/90 | 9.7.13.7
red < .{relaxed,release}? .{cta,gpu,sys,cluster}? .global? .add .noftz .L2::cache_hint? > .{v2,v4,v8} T={f16,bf16} | [], <T>, hint | 8.1/90 | 9.7.13.7
red < .{relaxed,release}? .{cta,gpu,sys,cluster}? .global? .add .noftz .L2::cache_hint? > .{v2,v4} T={f16x2,bf16x2} | [], <T>, hint | 8.1/90 | 9.7.13.7
red < $reductions .{and,or,xor} .L2::cache_hint?@7.4/80 > T={b32,b64@3.1/32} | [], T, hint | 1.2/20 | 9.7.13.7
red < $reductions .{inc,dec} .L2::cache_hint?@7.4/80 > T={u32} | [], T, hint | 1.2/20 | 9.7.13.7
red < $reductions .{min,max} .L2::cache_hint?@7.4/80 > T={u32,s32,u64@3.1/32,s64@3.1/32} | [], T, hint | 1.2/20 | 9.7.13.7
red .async < .relaxed .cluster .shared::cluster? > .mbarrier::complete_tx::bytes .{inc,dec} T={u32} | [], T, [shared] | 8.1/90 | 9.7.13.8
red .async < .relaxed .cluster .shared::cluster? > .mbarrier::complete_tx::bytes .add T={u32,s32,u64} | [], T, [shared] | 8.1/90 | 9.7.13.8
red .async < .relaxed .cluster .shared::cluster? > .mbarrier::complete_tx::bytes .{min,max} T={u32,s32} | [], T, [shared] | 8.1/90 | 9.7.13.8
red .async < .relaxed .cluster .shared::cluster? > .mbarrier::complete_tx::bytes .{and,or,xor} T={b32} | [], T, [shared] | 8.1/90 | 9.7.13.8
";

pub(super) const ASYNC: &str = "
cp .async .ca .{shared,shared::cta@7.8/80} .global < .L2::cache_hint?@7.4/80 .{L2::64B,L2::128B,L2::256B}?@7.4/80 > | [shared], [global], #, size?, hint | 7.0/80 | 9.7.9.25.3.1
cp .async .cg .{shared,shared::cta@7.8/80} .global < .L2::cache_hint?@7.4/80 .{L2::64B,L2::128B,L2::256B}?@7.4/80 > | [shared], [global], #, size?, hint | 7.0/80 | 9.7.9.25.3.1
cp .async .commit_group | | 7.0/80 | 9.7.9.25.3.2
cp .async .wait_group | # | 7.0/80 | 9.7.9.25.3.3
cp .async .wait_all | | 7.0/80 | 9.7.9.25.3.3
cp .async .mbarrier .arrive .noinc? .{shared,shared::cta@7.8/80}? .b64 | [] | 7.0/80 | 9.7.13.16.17
cp .async .bulk .shared::cluster .global .mbarrier::complete_tx::bytes .L2::cache_hint? | [shared], [global], u32, [shared], hint | 8.0/90 | 9.7.9.25.4.1
cp .async .bulk .shared::cluster .global .mbarrier::complete_tx::bytes .multicast::cluster .L2::cache_hint? | [shared], [global], u32, [shared], u16, hint | 8.0/90 | 9.7.9.25.4.1
cp .async .bulk .shared::cta .global .mbarrier::complete_tx::bytes .L2::cache_hint? | [shared], [global], u32, [shared], hint | 8.6/90 | 9.7.9.25.4.1
cp .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes | [shared], [shared], u32, [shared] | 8.0/90 | 9.7.9.25.4.1
cp .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.1
cp .async .bulk .commit_group | | 8.0/90 | 9.7.9.25.3.2
cp .async .bulk .wait_group .read? | # | 8.0/90 | 9.7.9.25.3.3
cp .async .bulk .prefetch .L2 .global .L2::cache_hint? | [global], u32, hint | 8.0/90 | 9.7.9.25.4.3
cp .async .bulk .tensor .{1d,2d,3d,4d,5d} .{shared::cluster,shared::cta@8.6/90} .global .tile? .mbarrier::complete_tx::bytes .L2::cache_hint? | [shared], tensor, [shared], hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .tensor .{1d,2d,3d,4d,5d} .shared::cluster .global .tile? .mbarrier::complete_tx::bytes .multicast::cluster .L2::cache_hint? | [shared], tensor, [shared], u16, hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .tensor .{1d,2d,3d,4d,5d} .global .shared::cta .tile? .bulk_group .L2::cache_hint? | tensor, [shared], hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .tensor .{3d,4d,5d} .{shared::cluster,shared::cta@8.6/90} .global .im2col .mbarrier::complete_tx::bytes .L2::cache_hint? | [shared], tensor, [shared], {* u16}, hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .tensor .{3d,4d,5d} .shared::cluster .global .im2col .mbarrier::complete_tx::bytes .multicast::cluster .L2::cache_hint? | [shared], tensor, [shared], {* u16}, u16, hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .tensor .{3d,4d,5d} .global .shared::cta .im2col_no_offs .bulk_group .L2::cache_hint? | tensor, [shared], hint | 8.0/90 | 9.7.9.27.1.1
cp .async .bulk .prefetch .tensor .{1d,2d,3d,4d,5d} .L2 .global .tile? .L2::cache_hint? | tensor, hint | 8.0/90 | 9.7.9.27.1.3
cp .async .bulk .prefetch .tensor .{3d,4d,5d} .L2 .global .im2col .L2::cache_hint? | tensor, {* u16}, hint | 8.0/90 | 9.7.9.27.1.3
cp .reduce .async .bulk .tensor .{1d,2d,3d,4d,5d} .global .shared::cta .{add,min,max,inc,dec,and,or,xor} .tile? .bulk_group .L2::cache_hint? | tensor, [shared], hint | 8.0/90 | 9.7.9.27.1.2
cp .reduce .async .bulk .tensor .{3d,4d,5d} .global .shared::cta .{add,min,max,inc,dec,and,or,xor} .im2col_no_offs .bulk_group .L2::cache_hint? | tensor, [shared], hint | 8.0/90 | 9.7.9.27.1.2
cp .reduce .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes .{and,or,xor} T={b32} | [shared], [shared], u32, [shared] | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes .add T={u32,s32,u64} | [shared], [shared], u32, [shared] | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes .{inc,dec} T={u32} | [shared], [shared], u32, [shared] | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes .{min,max} T={u32,s32} | [shared], [shared], u32, [shared] | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? .{and,or,xor} T={b32,b64} | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? .add T={u32,s32,u64,f32,f64} | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? .add .noftz T={f16,bf16} | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? .{inc,dec} T={u32} | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.2
cp .reduce .async .bulk .global .shared::cta .bulk_group .L2::cache_hint? .{min,max} T={u32,s32,u64,s64,f16,bf16} | [global], [shared], u32, hint | 8.0/90 | 9.7.9.25.4.2
tensormap .replace .tile .global_address .{global,shared::cta}? .b1024 T={b64} | [], T | 8.3/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.9.28
tensormap .replace .tile .rank .{global,shared::cta}? .b1024 T={b32} | [], T | 8.3/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.9.28
tensormap .replace .tile .{box_dim,global_dim,element_stride} .{global,shared::cta}? .b1024 T={b32} | [], #, T | 8.3/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.9.28
tensormap .replace .tile .global_stride .{global,shared::cta}? .b1024 T={b64} | [], #, T | 8.3/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.9.28
tensormap .replace .tile .{elemtype,interleave_layout,swizzle_mode,fill_mode} .{global,shared::cta}? .b1024 T={b32} | [], # | 8.3/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.9.28
tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release .{$scope} .sync .aligned | [global], [shared], # | 8.3/90 | 9.7.13.17
mbarrier .init .{shared,shared::cta@7.8/80}? .b64 | [], u32 | 7.0/80 | 9.7.13.16.9
mbarrier .inval .{shared,shared::cta@7.8/80}? .b64 | [] | 7.0/80 | 9.7.13.16.10
mbarrier .expect_tx .{shared,shared::cta,shared::cluster}? .b64 | [], u32 | 8.0/90 | 9.7.13.16.11
mbarrier .expect_tx < .relaxed .{cta,cluster} .{shared,shared::cta,shared::cluster}? > .b64 | [], u32 | 8.0/90 | 9.7.13.16.11
mbarrier .complete_tx .{shared,shared::cta,shared::cluster}? .b64 | [], u32 | 8.0/90 | 9.7.13.16.11
mbarrier .complete_tx < .relaxed .{cta,cluster} .{shared,shared::cta,shared::cluster}? > .b64 | [], u32 | 8.0/90 | 9.7.13.16.12
mbarrier .{arrive,arrive_drop} .shared::cluster .b64 | _, [], u32? | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .{shared,shared::cta@7.8/80}? .b64 | =b64_, [], u32? | 7.0/80 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} < .{release,relaxed@8.6/90} .{cta,cluster} .shared::cluster > .b64 | _, [], u32? | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} < .{release,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =b64_, [], u32? | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .expect_tx .shared::cluster .b64 | _, [], u32 | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .expect_tx .{shared,shared::cta}? .b64 | =b64_, [], u32 | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .expect_tx < .{release,relaxed@8.6/90} .{cta,cluster} .shared::cluster > .b64 | _, [], u32 | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .expect_tx < .{release,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =b64_, [], u32 | 8.0/90 | 9.7.13.16.13
mbarrier .{arrive,arrive_drop} .noComplete .{shared,shared::cta@7.8/80}? .b64 | =b64_, [], u32 | 7.0/80 | 9.7.13.16.13
mbarrier .pending_count .b64 | =u32, b64 | 7.0/80 | 9.7.13.16.18
mbarrier .test_wait .{shared,shared::cta@7.8/80}? .b64 | =pred, [], b64 | 7.0/80 | 9.7.13.16.16
mbarrier .test_wait .parity .{shared,shared::cta@7.8/80}? .b64 | =pred, [], u32 | 7.1/80 | 9.7.13.16.16
mbarrier .test_wait < .{acquire,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =pred, [], b64 | 8.0/90 | 9.7.13.16.16
mbarrier .test_wait .parity < .{acquire,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =pred, [], u32 | 8.0/90 | 9.7.13.16.16
mbarrier .try_wait .{shared,shared::cta}? .b64 | =pred, [], b64, u32? | 7.8/90 | 9.7.13.16.16
mbarrier .try_wait .parity .{shared,shared::cta}? .b64 | =pred, [], u32, u32? | 7.8/90 | 9.7.13.16.16
mbarrier .try_wait < .{acquire,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =pred, [], b64, u32? | 8.0/90 | 9.7.13.16.16
mbarrier .try_wait .parity < .{acquire,relaxed@8.6/90} .{cta,cluster} .{shared,shared::cta}? > .b64 | =pred, [], u32, u32? | 8.0/90 | 9.7.13.16.16
multimem .ld_reduce < .weak? .global? > .add T={u32,s32,u64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .ld_reduce < .weak? .global? > .{min,max} T={u32,s32,u64,s64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .ld_reduce < .weak? .global? > .{and,or,xor} T={b32,b64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .ld_reduce < .{relaxed,acquire} .{$scope} .global? > .add T={u32,s32,u64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .ld_reduce < .{relaxed,acquire} .{$scope} .global? > .{min,max} T={u32,s32,u64,s64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .ld_reduce < .{relaxed,acquire} .{$scope} .global? > .{and,or,xor} T={b32,b64} | =T, [] | 8.1/90 | 9.7.9.14
multimem .st < .weak? .global? > T={u32,s32,u64,s64,b32,b64,f32,f64} | [], T | 8.1/90 | 9.7.9.14
multimem .st < .{relaxed,release} .{$scope} .global? > T={u32,s32,u64,s64,b32,b64,f32,f64} | [], T | 8.1/90 | 9.7.9.14
";

pub(super) const TEXTURE: &str = "
tex .base?@3.1/20 .{1d,2d,3d,a1d,a2d} .v4 T={u32,s32,f32} U={s32,f32} | =<T>/pred, texture | 1.0/10 | 9.7.10.3 | pure own
tex .base?@3.1/20 .{cube,acube} .v4 T={u32,s32,f32} U={f32} | =<T>/pred, texture | 2.0/20 | 9.7.10.3 | pure own
tex .base?@3.1/20 .{1d,2d,3d,a1d,a2d} .v4 .f16 U={s32,f32} | =<b16>/pred, texture | 4.2/53 | 9.7.10.3 | pure own
tex .base?@3.1/20 .{cube,acube} .v4 .f16 U={f32} | =<b16>/pred, texture | 4.2/53 | 9.7.10.3 | pure own
tex .base?@3.1/20 .{1d,2d,3d,a1d,a2d} .v2 .f16x2 U={s32,f32} | =<b32>/pred, texture | 4.2/53 | 9.7.10.3 | pure own
tex .base?@3.1/20 .{cube,acube} .v2 .f16x2 U={f32} | =<b32>/pred, texture | 4.2/53 | 9.7.10.3 | pure own
tex .level .{1d,2d,3d,a1d,a2d} .v4 T={u32,s32,f32} U={s32,f32} | =<T>/pred, texture, U | 3.1/20 | 9.7.10.3 | pure own
tex .level .{cube,acube} .v4 T={u32,s32,f32} U={f32} | =<T>/pred, texture, U | 3.1/20 | 9.7.10.3 | pure own
tex .level .{1d,2d,3d,a1d,a2d,cube,acube} .v4 .f16 U={f32} | =<b16>/pred, texture, U | 4.2/53 | 9.7.10.3 | pure own
tex .level .{1d,2d,3d,a1d,a2d,cube,acube} .v2 .f16x2 U={f32} | =<b32>/pred, texture, U | 4.2/53 | 9.7.10.3 | pure own
tex .grad .{1d,2d,3d,a1d,a2d,cube,acube} .v4 T={u32,s32,f32} U={f32} | =<T>/pred, texture, {* f32}, {* f32} | 3.1/20 | 9.7.10.3 | pure own
tex .grad .{1d,2d,3d,a1d,a2d,cube,acube} .v4 .f16 U={f32} | =<b16>/pred, texture, {* f32}, {* f32} | 4.2/53 | 9.7.10.3 | pure own
tex .grad .{1d,2d,3d,a1d,a2d,cube,acube} .v2 .f16x2 U={f32} | =<b32>/pred, texture, {* f32}, {* f32} | 4.2/53 | 9.7.10.3 | pure own
tld4 .{r,g,b,a} .{2d,a2d,cube,acube} .v4 T={u32,s32,f32} .f32 | =<T>/pred, texture | 2.2/20 | 9.7.10.4 | pure own
txq .{width,height,depth,normalized_coords} .b32 | =b32, [] | 1.5/10 | 9.7.10.5 | same own
txq .{channel_data_type,channel_order} .b32 | =b32, [] | 1.5/20 | 9.7.10.5 | same own
txq .{force_unnormalized_coords,filter_mode,addr_mode_0,addr_mode_1,addr_mode_2} .b32 | =b32, [] | 1.5/20 | 9.7.10.5 | same own
txq .{array_size,num_mipmap_levels,num_samples} .b32 | =b32, [] | 4.1/20 | 9.7.10.5 | same own
txq .level .{width,height,depth} .b32 | =b32, [], b32 | 4.3/30 | 9.7.10.5 | same own
suld .b .{1d,2d,3d,a1d,a2d} .{ca,cg,cs,cv}? .v2? T={b8,b16,b32,b64} .{trap,clamp,zero} | =<T>, texture | 1.5/20 | 9.7.11.1 | acts own
suld .b .{1d,2d,3d,a1d,a2d} .{ca,cg,cs,cv}? .v4 T={b8,b16,b32} .{trap,clamp,zero} | =<T>, texture | 1.5/20 | 9.7.11.1 | acts own
sust .b .{1d,2d,3d,a1d,a2d} .{wb,cg,cs,wt}? .v2? T={b8,b16,b32,b64} .{trap,clamp,zero} | texture, <T> | 1.5/20 | 9.7.11.2
sust .b .{1d,2d,3d,a1d,a2d} .{wb,cg,cs,wt}? .v4 T={b8,b16,b32} .{trap,clamp,zero} | texture, <T> | 1.5/20 | 9.7.11.2
sust .p .{1d,2d,3d,a1d,a2d} .{wb,cg,cs,wt}? .{v2,v4}? T={b32} .{trap,clamp,zero} | texture, <T> | 1.5/20 | 9.7.11.2
sured .b .add .{1d,2d,3d} T={u32,s32,u64} .{trap,clamp,zero} | texture, T | 3.0/20 | 9.7.11.3
sured .b .{min,max} .{1d,2d,3d} T={u32,s32,u64@8.1/50,s64@8.1/50} .{trap,clamp,zero} | texture, T | 3.0/20 | 9.7.11.3
sured .b .{and,or} .{1d,2d,3d} T={b32} .{trap,clamp,zero} | texture, T | 3.0/20 | 9.7.11.3
sured .p .{add,and,or} .{1d,2d,3d} T={b32} .{trap,clamp,zero} | texture, T | 3.0/20 | 9.7.11.3
sured .p .{min,max} .{1d,2d,3d} T={b32,b64@8.1/50} .{trap,clamp,zero} | texture, T | 3.0/20 | 9.7.11.3
suq .{width,height,depth,channel_data_type,channel_order} .b32 | =b32, [] | 1.5/20 | 9.7.11.4 | same own
suq .{array_size,memory_layout} .b32 | =b32, [] | 4.2/20 | 9.7.11.4 | same own
";
