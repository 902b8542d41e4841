//! Table rows for control flow, synchronisation, warp collectives and the miscellaneous.

pub(super) const CONTROL: &str = "
bra .uni? | label | 1.0/10 | 9.7.12.3
brx .idx .uni? | u32, label | 6.0/30 | 9.7.12.4
call .uni? | call | 1.0/10 | 9.7.12.5
ret .uni? | | 1.0/10 | 9.7.12.6
exit | | 1.0/10 | 9.7.12.7
trap | | 1.0/10 | 9.7.20.4
brkpt | | 1.0/11 | 9.7.20.1
pmevent | # | 1.4/10 | 9.7.20.3
nanosleep T={u32} | T | 6.3/70 | 9.7.20.2
stacksave T={u32,u64} | =T | 7.3/52 | 9.7.18.1
stackrestore T={u32,u64} | T | 7.3/52 | 9.7.18.2
alloca T={u32,u64} | =T, T, #? | 7.3/52 | 9.7.18.3
setmaxnreg .{inc,dec} .sync .aligned .u32 | # | 8.0/90a 8.6/100f 8.6/101f 8.7/120f | 9.7.20.5
griddepcontrol .{launch_dependents,wait} | | 7.8/90 | 9.7.13.13
elect .sync | =b32_+pred, b32 | 8.0/90 | 9.7.13.15 | acts own mask
clusterlaunchcontrol .try_cancel .async .shared::cta? .mbarrier::complete_tx::bytes .b128 | [], [shared] | 8.6/100 | 9.7.13.18.1
";

pub(super) const SYNC: &str = "
bar .sync | u32, u32? | 1.0/10 | 9.7.13.1
bar .arrive | u32, u32 | 2.0/20 | 9.7.13.1
bar .red .popc .u32 | =u32, u32, u32?, !pred | 2.0/20 | 9.7.13.1
bar .red .{and,or} .pred | =pred, u32, u32?, !pred | 2.0/20 | 9.7.13.1
bar .cta .sync | u32, u32? | 7.8/30 | 9.7.13.1
bar .cta .arrive | u32, u32 | 7.8/30 | 9.7.13.1
bar .cta .red .popc .u32 | =u32, u32, u32?, !pred | 7.8/30 | 9.7.13.1
bar .cta .red .{and,or} .pred | =pred, u32, u32?, !pred | 7.8/30 | 9.7.13.1
barrier .cta?@7.8/30 .sync .aligned? | u32, u32? | 6.0/30 | 9.7.13.1
barrier .cta?@7.8/30 .arrive .aligned? | u32, u32 | 6.0/30 | 9.7.13.1
barrier .cta?@7.8/30 .red .popc .aligned? .u32 | =u32, u32, u32?, !pred | 6.0/30 | 9.7.13.1
barrier .cta?@7.8/30 .red .{and,or} .aligned? .pred | =pred, u32, u32?, !pred | 6.0/30 | 9.7.13.1
bar .warp .sync | b32 | 6.0/30 | 9.7.13.2 | acts together mask
barrier .cluster .arrive .{release@8.0/90,relaxed@8.0/90}? .aligned? | | 7.8/90 | 9.7.13.3
barrier .cluster .wait .acquire?@8.0/90 .aligned? | | 7.8/90 | 9.7.13.3
membar .{cta,gl,sys@2.0/20} | | 1.4/10 | 9.7.13.4
membar .proxy .alias | | 7.5/70 | 9.7.13.4
fence .{sc,acq_rel,acquire@8.6/90,release@8.6/90}? .{$scope} | | 6.0/70 | 9.7.13.4
fence .mbarrier_init .release .cluster | | 8.0/90 | 9.7.13.4
fence .proxy .{alias,async@8.0/90} | | 7.5/70 | 9.7.13.4
fence .proxy .async .{global,shared::cta,shared::cluster} | | 8.0/90 | 9.7.13.4
fence .proxy .tensormap::generic .release .{$scope} | | 8.3/90 | 9.7.13.4
fence .proxy .tensormap::generic .acquire .{$scope} | [], # | 8.3/90 | 9.7.13.4
fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster | | 8.6/90 | 9.7.13.4
fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster | | 8.6/90 | 9.7.13.4
fence .acquire .sync_restrict::shared::cluster .cluster | | 8.6/90 | 9.7.13.4
fence .release .sync_restrict::shared::cta .cluster | | 8.6/90 | 9.7.13.4
activemask .b32 | =b32 | 6.2/30 | 9.7.13.12
vote .sync .{all,any,uni} .pred | =pred, !pred, b32 | 6.0/30 | 9.7.13.9 | acts together mask
vote .sync .ballot .b32 | =b32, !pred, b32 | 6.0/30 | 9.7.13.9 | acts together mask
match .any .sync T={b32,b64} | =b32, T, b32 | 6.0/70 | 9.7.13.11 | acts own mask
match .all .sync T={b32,b64} | =b32_/pred, T, b32 | 6.0/70 | 9.7.13.11 | acts together mask
redux .sync .{add,min,max} T={u32,s32} | =T, T, b32 | 7.0/80 | 9.7.13.14 | acts together mask
redux .sync .{and,or,xor} T={b32} | =T, T, b32 | 7.0/80 | 9.7.13.14 | acts together mask
redux .sync .{min,max} .abs? .NaN? T={f32} | =T, T, b32 | 8.6/100f | 9.7.13.14 | acts together mask
";
