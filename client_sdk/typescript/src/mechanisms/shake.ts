/**
 * SHAKE-256 (FIPS 202), only for the blocks of designs. Its input is public, and no secret depends on it.
 *
 * Unlike `crypto.subtle`, this implementation is synchronous. Tests compare it with Node's. A lane of 64 bits is a pair
 * of 32-bit halves, the low half first.
 */

/** The number of bytes that one permutation reads or writes. */
const RATE = 136;

const ROUNDS = 24;

/** Return the first `size` bytes of the output for an input. */
export function shake256(input: Uint8Array, size: number): Uint8Array {
  const state = new Uint8Array(200);
  const padded = new Uint8Array(Math.ceil((input.length + 1) / RATE) * RATE);
  padded.set(input);
  padded[input.length] = 0x1f;
  padded[padded.length - 1]! |= 0x80;
  const output = new Uint8Array(Math.ceil(size / RATE) * RATE);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let byte = 0; byte < RATE; byte++) state[byte]! ^= padded[start + byte]!;
    permute(state);
  }
  for (let start = 0; start < size; start += RATE) {
    if (start) permute(state);
    output.set(state.subarray(0, RATE), start);
  }
  return output.subarray(0, size);
}

/** Keccak-f[1600] (section 3.2 of the standard): theta, rho and pi, chi, iota. */
function permute(state: Uint8Array): void {
  const words = new DataView(state.buffer);
  const lanes = Int32Array.from({ length: 50 }, (_, word) => words.getInt32(4 * word, true));
  const moved = new Int32Array(50);
  const columns = new Int32Array(10);
  let register = 1;
  for (let round = 0; round < ROUNDS; round++) {
    for (let half = 0; half < 10; half++) {
      columns[half] = lanes[half]! ^ lanes[half + 10]! ^ lanes[half + 20]! ^ lanes[half + 30]! ^ lanes[half + 40]!;
    }
    for (let lane = 0; lane < 25; lane++) {
      const [left, right] = [2 * ((lane + 4) % 5), 2 * ((lane + 1) % 5)];
      lanes[2 * lane]! ^= columns[left]! ^ rotated(columns[right]!, columns[right + 1]!, 1);
      lanes[2 * lane + 1]! ^= columns[left + 1]! ^ rotated(columns[right + 1]!, columns[right]!, 1);
    }
    for (let lane = 0; lane < 25; lane++) {
      const [from, to, shift] = [2 * lane, 2 * TARGETS[lane]!, SHIFTS[lane]!];
      const [low, high] = shift & 32 ? [lanes[from + 1]!, lanes[from]!] : [lanes[from]!, lanes[from + 1]!];
      moved[to] = rotated(low, high, shift & 31);
      moved[to + 1] = rotated(high, low, shift & 31);
    }
    for (let half = 0; half < 50; half++) {
      const row = half - (half % 10);
      lanes[half] = moved[half]! ^ (~moved[row + ((half + 2) % 10)]! & moved[row + ((half + 4) % 10)]!);
    }
    for (let power = 0; power < 7; power++) {
      const bit = 2 ** power - 1;
      if (register & 1) lanes[bit >> 5]! ^= 1 << bit;
      register = (register << 1) ^ (register >> 7) * 0x171;
    }
  }
  lanes.forEach((word, place) => words.setInt32(4 * place, word, true));
}

/** Return one half of a lane after a rotation to the left by 0 to 31 bits. */
function rotated(half: number, other: number, shift: number): number {
  return shift ? (half << shift) | (other >>> (32 - shift)) : half;
}

/** For each lane, the rotation of step rho in bits, and the target place of step pi. */
const SHIFTS = new Uint8Array(25);
const TARGETS = new Uint8Array(25);
for (let step = 0, x = 1, y = 0; step < 24; step++) {
  SHIFTS[x + 5 * y] = (((step + 1) * (step + 2)) / 2) % 64;
  [x, y] = [y, (2 * x + 3 * y) % 5];
}
for (let lane = 0; lane < 25; lane++) TARGETS[lane] = Math.floor(lane / 5) + 5 * ((2 * (lane % 5) + 3 * Math.floor(lane / 5)) % 5);
