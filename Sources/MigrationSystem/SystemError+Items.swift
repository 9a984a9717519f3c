import Glibc

/// Errors of a file system that concern only one item.
extension SystemError {
  /// A file would exceed the file system's limit.
  package var isTooLarge: Bool { errno == EFBIG || errno == EOVERFLOW }
  /// A name, or the target of a link, is too long.
  package var isTooLong: Bool { errno == ENAMETOOLONG }
  /// A name is invalid in the file system's encoding.
  package var isEncodingRefused: Bool { errno == EILSEQ }
  /// The file system considers the call invalid.
  package var isInvalid: Bool { errno == EINVAL }
  /// A directory or a file has the most names possible.
  package var isLinkCountExceeded: Bool { errno == EMLINK }
}
