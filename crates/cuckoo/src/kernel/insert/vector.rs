//! SIMD vectors of sixteen lanes of 32 bits, with the operations that inserts need.

use crate::evict::lane_group::{LANES, Lanes};
use core::fmt::Debug;
use trommel_simd::{Hint, prefetch};

/// Sixteen lanes of 32 bits. Some methods treat each lane as two *fields* of 16 bits. The *sign* of a lane is its
/// highest bit. Methods that decide by signs ignore the other bits.
///
/// Although most methods are safe functions, the caller may call the methods only in functions that are compiled for
/// the instruction set of the type.
///
/// # Safety
/// The implementor must ensure that every method is inlined into its caller, since methods have no target features of
/// their own.
pub(super) unsafe trait Vector: Copy + Debug {
    fn splat(value: u32) -> Self;
    fn load(lanes: &Lanes) -> Self;
    fn store(self, lanes: &mut Lanes);

    fn and(self, other: Self) -> Self;
    /// `self & !other`
    fn and_not(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn left<const BITS: u32>(self) -> Self;
    fn right<const BITS: u32>(self) -> Self;
    /// Shifts each lane left by the number in the same lane of `counts`. The caller must ensure that all of these
    /// numbers are below 32.
    fn left_by(self, counts: Self) -> Self;
    /// Shifts each lane right by the number in the same lane of `counts`. The caller must ensure that all of these
    /// numbers are below 32.
    fn right_by(self, counts: Self) -> Self;

    fn min_16(self, other: Self) -> Self;
    fn max_16(self, other: Self) -> Self;
    /// All ones in the fields that are equal, zero in the others.
    fn eq_16(self, other: Self) -> Self;
    /// For each field, the low half of the product of `self` and `other`.
    fn mul_16(self, other: Self) -> Self;
    /// For each field, the high half of the product of `self` and `other`.
    fn mul_high_16(self, other: Self) -> Self;
    fn right_16<const BITS: u32>(self) -> Self;

    /// The signs, one bit per lane.
    fn signs(self) -> u32;
    /// The lanes of `yes` where the sign in `sign` is set, and the lanes of `no` elsewhere.
    fn choose(sign: Self, yes: Self, no: Self) -> Self;
    /// Whether any two lanes are equal in their low 16 bits.
    fn any_equal_16(self) -> bool;

    /// Reads 32 bits in each lane, at `base + index · SCALE`.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at each lane's address are valid to read, and that every index is below
    /// 2^31.
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self;
    /// Reads 32 bits, at `base + index · SCALE`, in each lane whose sign is set in `sign`. The other lanes of the
    /// result have any value.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at the address of each selected lane are valid to read, and that the
    /// index of each selected lane is below 2^31. The 32 bits at `base`, the address of index 0, must be valid to read
    /// too: an implementation may read them for the lanes that are not selected.
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self;
    /// Writes 32 bits for each lane whose bit of `lanes` is set, at `base + index · SCALE`, in the order of the
    /// lanes.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at the address of each such lane are valid to write, and that the index
    /// of each such lane is below 2^31.
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32);

    /// A vector whose signs are these bits: lane `i` has bit `i`.
    #[inline(always)]
    fn of_signs(bits: u32) -> Self {
        const SHIFTS: Lanes = [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16];
        Self::splat(bits).left_by(Self::load(&SHIFTS))
    }
}

/// [`Vector::scatter`] lane by lane, without a branch: lanes that are not to be written are stored to a local variable.
///
/// # Safety
/// The caller must ensure that 32 bits may be written at `base + index · SCALE`, for the index of each lane in `lanes`.
#[inline(always)]
pub(super) unsafe fn store_each<const SCALE: i32>(
    base: *mut u8,
    indices: &Lanes,
    values: &Lanes,
    lanes: u32,
) {
    let mut aside = 0u32;
    let aside: *mut u8 = (&raw mut aside).cast();
    for lane in 0..LANES {
        let to = base.wrapping_add(indices[lane] as usize * SCALE as usize);
        let to = if lanes >> lane & 1 == 1 { to } else { aside };
        // SAFETY: the caller promises that the bits of the lanes in `lanes` may be written; `aside` has four bytes.
        unsafe { to.cast::<u32>().write_unaligned(values[lane]) };
    }
}

/// Prefetches the buckets at `base + index · bytes`.
#[inline(always)]
pub(super) fn fetch(base: *const u8, index: &Lanes, bytes: usize) {
    for index in index {
        prefetch(base.wrapping_add(*index as usize * bytes), Hint::T0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evict::lane_group::LANES;
    use alloc::vec::Vec;
    use core::array::from_fn;
    use trommel_simd::Isa;
    use trommel_testkit::Splitmix;

    const ROUNDS: usize = if cfg!(miri) { 5 } else { 500 };
    /// Fields at which sums, products and comparisons of signed numbers would go wrong.
    const FIELDS: [u32; 8] = [0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF];

    /// Lanes of which about half of the fields are in [`FIELDS`].
    fn sample(draws: &mut Splitmix) -> Lanes {
        let mut field = || {
            let random = draws.below(1 << 16) as u32;
            if draws.below(2) == 0 { FIELDS[random as usize % FIELDS.len()] } else { random }
        };
        from_fn(|_| field() << 16 | field())
    }

    fn lanes<V: Vector>(vector: V) -> Lanes {
        let mut lanes = [0; LANES];
        vector.store(&mut lanes);
        lanes
    }

    fn each(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
        from_fn(|lane| f(a[lane], b[lane]))
    }

    fn each_field(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
        each(a, b, |a, b| f(a >> 16, b >> 16) << 16 | f(a & 0xFFFF, b & 0xFFFF))
    }

    fn signs(a: &Lanes) -> u32 {
        (0..LANES).fold(0, |signs, lane| signs | a[lane] >> 31 << lane)
    }

    #[inline(always)]
    fn check_lanes<V: Vector>(a: &Lanes, b: &Lanes, signed: &Lanes) {
        let (x, y) = (V::load(a), V::load(b));
        assert_eq!(lanes(V::splat(a[0])), [a[0]; LANES]);
        assert_eq!(lanes(x.and(y)), each(a, b, |a, b| a & b));
        assert_eq!(lanes(x.and_not(y)), each(a, b, |a, b| a & !b));
        assert_eq!(lanes(x.or(y)), each(a, b, |a, b| a | b));
        assert_eq!(lanes(x.xor(y)), each(a, b, |a, b| a ^ b));
        assert_eq!(lanes(x.add(y)), each(a, b, u32::wrapping_add));
        assert_eq!(lanes(x.sub(y)), each(a, b, u32::wrapping_sub));
        assert_eq!(lanes(x.min(y)), each(a, b, u32::min));
        let (counts, by) = (b.map(|count| count % 32), V::splat(31));
        assert_eq!(lanes(x.left_by(y.and(by))), each(a, &counts, |a, count| a << count));
        assert_eq!(lanes(x.right_by(y.and(by))), each(a, &counts, |a, count| a >> count));
        let chosen: Lanes = from_fn(|lane| if signed[lane] >> 31 == 1 { a[lane] } else { b[lane] });
        assert_eq!(lanes(V::choose(V::load(signed), x, y)), chosen);
        assert_eq!(V::load(signed).signs(), signs(signed));
        assert_eq!(signs(&lanes(V::of_signs(signs(signed)))), signs(signed));
    }

    #[inline(always)]
    fn check_fields<V: Vector>(a: &Lanes, b: &Lanes) {
        let (x, y) = (V::load(a), V::load(b));
        assert_eq!(lanes(x.min_16(y)), each_field(a, b, u32::min));
        assert_eq!(lanes(x.max_16(y)), each_field(a, b, u32::max));
        assert_eq!(lanes(x.eq_16(y)), each_field(a, b, |a, b| u32::from(a == b) * 0xFFFF));
        assert_eq!(lanes(x.mul_16(y)), each_field(a, b, |a, b| (a * b) & 0xFFFF));
        assert_eq!(lanes(x.mul_high_16(y)), each_field(a, b, |a, b| (a * b) >> 16));
    }

    #[inline(always)]
    fn check_shifts<V: Vector>(a: &Lanes) {
        let x = V::load(a);
        macro_rules! by {
            ($($bits:literal)*) => {$(
                assert_eq!(lanes(x.left::<$bits>()), a.map(|lane| lane << $bits));
                assert_eq!(lanes(x.right::<$bits>()), a.map(|lane| lane >> $bits));
                let fields = each_field(a, a, |field, _| field >> ($bits % 16));
                assert_eq!(lanes(x.right_16::<{ $bits % 16 }>()), fields);
            )*};
        }
        by!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }

    /// Gives two lanes at a time the same value, or values that differ in one bit of the high or of the low half.
    #[inline(always)]
    fn check_equality<V: Vector>() {
        let distinct: Lanes = from_fn(|lane| 0xABCD_7FF0 + lane as u32);
        assert!(!V::load(&distinct).any_equal_16());
        for (first, second) in (0..LANES).flat_map(|second| (0..second).map(move |i| (i, second))) {
            for (changed, is_equal) in
                [(0, true), (0x8000_0000, true), (0x0001_0000, true), (0x8000, false)]
            {
                let mut a = distinct;
                a[second] = a[first] ^ changed;
                assert_eq!(V::load(&a).any_equal_16(), is_equal, "{first} {second} {changed:#x}");
            }
        }
    }

    /// Reads and writes tables of bytes that end with the last lane's four bytes. Indices of lanes that are not
    /// selected lie far outside of the table.
    #[inline(always)]
    fn check_memory<V: Vector, const SCALE: i32>(draws: &mut Splitmix) {
        const INDICES: usize = 40;
        let scale = SCALE as usize;
        let mut table: Vec<u8> = draws.bytes((INDICES - 1) * scale + 4);
        let mut index: Lanes = from_fn(|_| draws.below(INDICES as u64) as u32);
        index[draws.below(LANES as u64) as usize] = INDICES as u32 - 1;
        let read = |index: u32| {
            let at = index as usize * scale;
            u32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
        };
        let expected = index.map(read);
        // SAFETY: all indices are below `INDICES`, and four bytes of the table are at each.
        let all = unsafe { V::gather::<SCALE>(table.as_ptr(), V::load(&index)) };
        assert_eq!(lanes(all), expected);

        let sign = sample(draws);
        let is_chosen = |lane: usize| sign[lane] >> 31 == 1;
        let wild: Lanes =
            from_fn(|lane| if is_chosen(lane) { index[lane] } else { u32::MAX - lane as u32 });
        // SAFETY: all indices of lanes whose sign is set are below `INDICES`.
        let some =
            unsafe { V::gather_some::<SCALE>(table.as_ptr(), V::load(&wild), V::load(&sign)) };
        let some = lanes(some);
        assert!((0..LANES).all(|lane| !is_chosen(lane) || some[lane] == expected[lane]));

        let values = sample(draws);
        let mut written = table.clone();
        for lane in (0..LANES).filter(|lane| is_chosen(*lane)) {
            let at = index[lane] as usize * scale;
            written[at..at + 4].copy_from_slice(&values[lane].to_le_bytes());
        }
        let to = table.as_mut_ptr();
        // SAFETY: all indices of lanes whose sign is set are below `INDICES`.
        unsafe { V::load(&values).scatter::<SCALE>(to, V::load(&wild), signs(&sign)) };
        assert_eq!(table, written);
    }

    #[inline(always)]
    fn check<V: Vector>() {
        let mut draws = Splitmix::new(27);
        for _ in 0..ROUNDS {
            let [a, b, signed] = from_fn(|_| sample(&mut draws));
            check_lanes::<V>(&a, &b, &signed);
            check_fields::<V>(&a, &b);
            check_shifts::<V>(&a);
            check_memory::<V, 2>(&mut draws);
            check_memory::<V, 4>(&mut draws);
            check_memory::<V, 8>(&mut draws);
        }
        check_equality::<V>();
    }

    #[cfg(target_arch = "x86_64")]
    mod sets {
        use crate::kernel::insert::{avx2::Avx2, avx512::Avx512};

        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(super) fn avx2() {
            super::check::<Avx2>();
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        pub(super) fn avx512() {
            super::check::<Avx512<false>>();
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        pub(super) fn avx512_gather() {
            super::check::<Avx512<true>>();
        }
    }

    #[test]
    fn all_operations_agree_with_arrays() {
        for isa in Isa::available() {
            match isa {
                // SAFETY: this machine has the set.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => unsafe { sets::avx2() },
                // SAFETY: this machine has the set.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512Core => unsafe { sets::avx512() },
                // SAFETY: this machine has the set.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512Gather => unsafe { sets::avx512_gather() },
                // The target guarantees NEON.
                #[cfg(target_arch = "aarch64")]
                Isa::Neon => check::<crate::kernel::insert::neon::Neon>(),
                _ => {}
            }
        }
    }
}
