package import MigrationSystem

/// Something that could not be done with an app on this device.
package struct HostError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of failure it is; more may be added.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// There is nothing to read at the path of a bundle.
    package static let source = Code(rawValue: "source")
    /// A bundle is not made as it must be.
    package static let bundle = Code(rawValue: "bundle")
    /// An app's extension cannot be started, or cannot do what is wanted.
    package static let unfit = Code(rawValue: "unfit")
    /// What was begun was stopped by the user.
    package static let stopped = Code(rawValue: "stopped")
    /// No app of that identifier is installed.
    package static let notInstalled = Code(rawValue: "not installed")
    /// The app runs, or its data is being migrated, or it is being installed or removed.
    package static let inUse = Code(rawValue: "in use")
    /// An app's data container cannot be used as it is.
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
  /// The bytes of the name that it is about: a path, or an identifier.
  package let name: [UInt8]?
  /// The kernel's reason.
  package let cause: SystemError?
  /// What is wrong with a bundle, where that is it.
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
  /// Does something that the kernel may refuse; `action` says then what did not work: "the container of X cannot be made".
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
