/// A program that a system starts on behalf of an app, for one purpose.
///
/// Apple's platforms have this in ExtensionFoundation; here it comes with the one kind of extension that there is.
public protocol AppExtension {
  /// How the extension is configured.
  associatedtype Configuration: AppExtensionConfiguration

  /// Makes the extension; it is made once in its process, on the main actor, before the process says what it can do.
  ///
  /// That a device asks before it lets another one send anything, and nothing of the app's data can be changed then.
  @MainActor @preconcurrency init()

  /// How this extension is configured.
  @MainActor @preconcurrency var configuration: Configuration { get }

  /// Runs the extension's process. Extensions get it by adopting a protocol of their kind; their authors add `@main`.
  static func main() throws
}
