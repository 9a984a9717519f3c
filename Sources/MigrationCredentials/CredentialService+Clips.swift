/// What an app has of its clip: it reads and deletes the clip's items too, and asks for the clip's
/// record of a user.
extension CredentialService {
  /// The app's own record counts first; its clip's authorization also holds for the app.
  func account(_ user: String) throws(CredentialStatus) -> AccountState? {
    do {
      if let state = try storage.account(user, of: principal.owner) { return state }
      guard let clip = principal.clip else { return nil }
      return try storage.account(user, of: clip)
    } catch {
      throw CredentialStatus(error)
    }
  }

  /// The owners that a query addresses, in the order of its results.
  func owners(of query: CredentialQuery) throws(CredentialStatus) -> [CredentialOwner] {
    let readable = [principal.owner, principal.clip].compactMap(\.self)
    guard let group = query.group else { return readable }
    let meant = readable.filter { $0.identifier == group }
    guard !meant.isEmpty else { throw .missingEntitlement }
    return meant
  }
}
