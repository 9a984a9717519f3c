/// The result of a request, by the numbers of Apple's OSStatus.
package struct CredentialStatus: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  package static let success = CredentialStatus(rawValue: 0)
  package static let io = CredentialStatus(rawValue: -36)
  package static let parameter = CredentialStatus(rawValue: -50)
  package static let notAvailable = CredentialStatus(rawValue: -25291)
  package static let duplicateItem = CredentialStatus(rawValue: -25299)
  package static let itemNotFound = CredentialStatus(rawValue: -25300)
  package static let dataTooLarge = CredentialStatus(rawValue: -25302)
  package static let decode = CredentialStatus(rawValue: -26275)
  package static let missingEntitlement = CredentialStatus(rawValue: -34018)

  /// The result of a request that the storage cannot serve.
  package init(_ error: CredentialStorageError) {
    self =
      switch error {
      case .unavailable: .notAvailable
      case .damaged: .decode
      case .full: .dataTooLarge
      case .failed: .io
      }
  }
}
