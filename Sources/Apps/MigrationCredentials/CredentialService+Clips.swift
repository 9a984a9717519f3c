/// What an app has of its clip: it reads and deletes the clip's items too, and asks for the clip's
/// record of a user.
extension CredentialService {
  /// The owners whose items the program reads and deletes, in the order of results.
  var readableOwners: [CredentialOwner] { [principal.owner, principal.clip].compactMap(\.self) }

  /// The app's own record counts first; its clip's authorization also holds for the app.
  func account(_ user: String) throws(CredentialStatus) -> AccountState? {
    if let state = try storage.account(user, of: principal.owner) { return state }
    guard let clip = principal.clip else { return nil }
    return try storage.account(user, of: clip)
  }
}
