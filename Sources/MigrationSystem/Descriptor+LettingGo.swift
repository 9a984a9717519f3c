import CSystem

extension Descriptor {
  /// Closes the open file while others still have this value: their calls fail from then on.
  ///
  /// A server keeps the name of a removed file for as long as the file is open (NFS as `.nfs…`, CIFS as it is), and with it
  /// the directory.
  package func letGo() throws(SystemError) {
    try perform("let go") { csystem_let_go(raw) }
  }
}
