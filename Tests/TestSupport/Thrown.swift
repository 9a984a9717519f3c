/// The error that `body` throws; nil if it throws none.
package func thrown<Failure: Error>(by body: () throws(Failure) -> Void) -> Failure? {
  do {
    try body()
    return nil
  } catch {
    return error
  }
}
