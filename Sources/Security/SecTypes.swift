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
