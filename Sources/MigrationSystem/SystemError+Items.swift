import Glibc

/// What a file system says of one item, and of no other.
extension SystemError {
  /// A file would become larger than the file system allows.
  package var isTooLarge: Bool { errno == EFBIG || errno == EOVERFLOW }
  /// A name, or the target of a link, is too long.
  package var isTooLong: Bool { errno == ENAMETOOLONG }
  /// A name is nothing in the file system's encoding.
  package var isEncodingRefused: Bool { errno == EILSEQ }
  /// The call makes no sense to the file system.
  package var isInvalid: Bool { errno == EINVAL }
  /// A directory or a file has all the names that it can have.
  package var isLinkCountExceeded: Bool { errno == EMLINK }
}
