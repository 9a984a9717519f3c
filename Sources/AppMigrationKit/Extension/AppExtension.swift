/// A program that a system starts for an app, for one purpose.
///
/// Apple's platforms have this protocol in ExtensionFoundation. Here it comes with the only kind of
/// extension.
public protocol AppExtension {
  /// The extension's configuration.
  associatedtype Configuration: AppExtensionConfiguration

  /// Makes the extension. Its process makes it once, on the main actor, before the process reports
  /// its abilities.
  ///
  /// A device asks for these abilities before it lets another device send data. The extension
  /// cannot change the app's data at that time.
  @MainActor @preconcurrency init()

  /// This extension's configuration.
  @MainActor @preconcurrency var configuration: Configuration { get }

  /// Runs the extension's process. An extension gets this method from the protocol that it adopts;
  /// its author adds `@main`.
  static func main() throws
}
