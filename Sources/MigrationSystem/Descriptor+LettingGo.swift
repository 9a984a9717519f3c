import CSystem

extension Descriptor {
  /// Closes the open file while other code still has this value: its calls fail from then on.
  ///
  /// A server keeps the name of a removed file as long as the file is open (NFS as `.nfs…`, CIFS
  /// unchanged), and the file's directory with it.
  package func letGo() throws(SystemError) {
    try perform("let go") { csystem_let_go(raw) }
  }
}
