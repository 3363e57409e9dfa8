/// Whether two slices hold the same bytes.
///
/// For large contents: tests are not optimized, and `==` in a test calls a function for each byte.
package func haveSameBytes(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
    first == second
}
