import MigrationCredentials

// The texts are Apple's, so that helpers with literal texts work too.

// The kind of an item.
public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecClassKey: CFString = "keys"

/// The secret: `Data`.
public let kSecValueData: CFString = "v_Data"

// The attributes of any item.
public let kSecAttrLabel: CFString = "labl"
public let kSecAttrDescription: CFString = "desc"
public let kSecAttrComment: CFString = "icmt"
public let kSecAttrCreationDate: CFString = "cdat"
public let kSecAttrModificationDate: CFString = "mdat"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrSynchronizable: CFString = "sync"
public let kSecAttrSynchronizableAny: CFString = "syna"

// The attributes of a password.
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrService: CFString = "svce"
public let kSecAttrGeneric: CFString = "gena"

// The attributes of a key.
public let kSecAttrApplicationLabel: CFString = "klbl"
public let kSecAttrApplicationTag: CFString = "atag"
public let kSecAttrKeyType: CFString = "type"
public let kSecAttrKeyTypeRSA: CFString = "42"
public let kSecAttrKeyTypeEC: CFString = "73"
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
public let kSecAttrKeyClass: CFString = "kcls"
public let kSecAttrKeyClassPublic: CFString = "0"
public let kSecAttrKeyClassPrivate: CFString = "1"
public let kSecAttrKeyClassSymmetric: CFString = "2"
public let kSecAttrKeySizeInBits: CFString = "bsiz"

// The times at which an item may be read, on a device with a lock. They are stored and returned,
// without an effect.
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
public let kSecAttrAccessibleAlways: CFString = "dk"
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"

// The parts and the number of returned items.
public let kSecReturnData: CFString = "r_Data"
public let kSecReturnAttributes: CFString = "r_Attributes"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"
public let kSecMatchLimitAll: CFString = "m_LimitAll"

/// This key has no effect: there is one kind of store.
public let kSecUseDataProtectionKeychain: CFString = "nleg"

/// A dictionary of a query, by the constants that begin with `kSec`.
public typealias CFDictionary = [String: Any]
public typealias CFString = String
public typealias CFBoolean = Bool
public typealias CFNumber = Int
/// A result: a dictionary, data, or an array of these. Cast it to `[String: Any]`, `Data`, or
/// arrays of them.
public typealias CFTypeRef = AnyObject
/// The result of a call: one of the constants that begin with `errSec`.
public typealias OSStatus = Int32

public let kCFBooleanTrue: CFBoolean! = true
public let kCFBooleanFalse: CFBoolean! = false

public let errSecSuccess: OSStatus = CredentialStatus.success.rawValue
/// The same as `errSecSuccess`.
public let noErr: OSStatus = errSecSuccess
public let errSecUnimplemented: OSStatus = -4
/// The answer did not come; the change may have been made.
public let errSecIO: OSStatus = CredentialStatus.io.rawValue
/// A key or a value is unknown or not allowed there. A line on standard error names the key.
public let errSecParam: OSStatus = CredentialStatus.parameter.rawValue
public let errSecAllocate: OSStatus = -108
public let errSecUserCanceled: OSStatus = -128
public let errSecInternalComponent: OSStatus = -2070
/// `peer app run` did not start the program, the program is an extension, or the key of the store
/// is missing.
public let errSecNotAvailable: OSStatus = CredentialStatus.notAvailable.rawValue
public let errSecAuthFailed: OSStatus = -25293
/// An item of the same identity exists: account and service, or the key's application label.
public let errSecDuplicateItem: OSStatus = CredentialStatus.duplicateItem.rawValue
/// No item matches.
public let errSecItemNotFound: OSStatus = CredentialStatus.itemNotFound.rawValue
/// The secret, the attributes, or the number of items exceeds its limit.
public let errSecDataTooLarge: OSStatus = CredentialStatus.dataTooLarge.rawValue
public let errSecNoSuchAttr: OSStatus = -25303
public let errSecInteractionNotAllowed: OSStatus = -25308
/// An item that the call has to read is damaged.
public let errSecDecode: OSStatus = CredentialStatus.decode.rawValue
/// The access group is neither the app's own identifier nor its clip's.
public let errSecMissingEntitlement: OSStatus = CredentialStatus.missingEntitlement.rawValue

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns a sentence for a status; `reserved` is nil.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
  switch status {
  case errSecSuccess: "No error."
  case errSecUnimplemented: "This is not implemented."
  case errSecIO: "The answer did not come; the change may have been made."
  case errSecParam: "A key or a value of the query is unknown or not allowed there."
  case errSecAllocate: "There is not enough memory."
  case errSecUserCanceled: "The user cancelled."
  case errSecInternalComponent: "An internal error occurred."
  case errSecNotAvailable:
    "No credentials are available: peer did not start the app, or the key of the store is missing."
  case errSecAuthFailed: "The user could not be authenticated."
  case errSecDuplicateItem: "An item of the same identity already exists."
  case errSecItemNotFound: "No stored item matches."
  case errSecDataTooLarge: "The item is too large, or there are too many items."
  case errSecNoSuchAttr: "There is no such attribute."
  case errSecInteractionNotAllowed: "The user may not be asked."
  case errSecDecode: "A stored item is damaged."
  case errSecMissingEntitlement: "The access group belongs neither to the app nor to its clip."
  default: "OSStatus \(status)"
  }
}
