// A test that needs something that is not there is skipped, unless REQUIRE_DOORS lists it. e2e-tests/src/required.rs has
// all names.

const REQUIRED = (process.env["REQUIRE_DOORS"] ?? "").split(/[ ,]+/);

/** Why tests are skipped, or `false`; throws if what is missing is required. */
export function skipUnless(door: string, isThere: boolean, why: string): string | false {
  if (isThere) return false;
  if (REQUIRED.includes(door)) throw new Error(`${why}, and REQUIRE_DOORS lists ${door}`);
  return why;
}
