package import MigrationSystem

/// An operation with an app on this device that failed.
package struct HostError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure; later versions may add kinds.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The path of a bundle does not exist or is unreadable.
    package static let source = Code(rawValue: "source")
    /// A bundle is invalid.
    package static let bundle = Code(rawValue: "bundle")
    /// An app's extension cannot be started, or lacks the required ability.
    package static let unfit = Code(rawValue: "unfit")
    /// The user stopped the operation.
    package static let stopped = Code(rawValue: "stopped")
    /// No app of that identifier is installed.
    package static let notInstalled = Code(rawValue: "not installed")
    /// The app runs, or its data is being migrated, or it is being installed or removed.
    package static let inUse = Code(rawValue: "in use")
    /// An app's data container is unusable in its current state.
    package static let container = Code(rawValue: "container")
    /// Reading or writing failed.
    package static let storage = Code(rawValue: "storage")
    /// Apps cannot be kept at this place.
    package static let location = Code(rawValue: "location")
    /// There is not enough space.
    package static let noSpace = Code(rawValue: "no space")
  }

  package let code: Code
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence that says what to do.
  package let hint: String?
  /// The bytes of the name that the error is about: a path, or an identifier.
  package let name: [UInt8]?
  /// The kernel's reason.
  package let cause: SystemError?
  /// The fault of a bundle, if that is the cause.
  package let fault: BundleFault?

  package init(
    _ code: Code, _ description: String, hint: String? = nil, name: [UInt8]? = nil, cause: SystemError? = nil,
    fault: BundleFault? = nil
  ) {
    self.fault = fault
    self.code = cause?.isNoSpace == true ? .noSpace : code
    self.description = cause.map { "\(description): \($0.words)" } ?? description
    self.hint = hint
    self.name = name
    self.cause = cause
  }
}

extension HostError {
  /// Performs an operation of the kernel; `action` is the error's text if it fails: "the container
  /// of X cannot be made".
  static func wrapping<Result: ~Copyable>(
    _ code: Code, _ action: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
  ) throws(HostError) -> Result {
    do {
      return try body()
    } catch {
      throw HostError(code, action(), cause: error)
    }
  }
}
