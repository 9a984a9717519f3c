import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

extension TransferStore {
  /// How long a process that works on a transfer has to end it.
  static let endPatience = Duration.seconds(5)

  /// Forgets a device: it needs a code from now on. All of its transfers end: a process that works on
  /// one ends it, and otherwise it is removed here.
  package func forgetDevice(_ typed: String) throws(Failure) -> ForgottenDevice {
    do {
      let (device, plans) = try changingDevices {
        let device = try self.device(typed: typed)
        let plans = try marked(of: device)
        try remove(device)
        return (device, plans)
      }
      var forgotten = ForgottenDevice(device: device)
      for plan in plans { try end(plan, &forgotten) }
      return forgotten
    } catch {
      throw Failure(error)
    }
  }

  /// A transfer of a device that is being forgotten.
  private struct Plan {
    let transfers: SharedDirectory
    let name: [UInt8]
    let remembered: TransferRecord
  }

  /// Marks the transfers of a device, durably: from here on, no process continues one.
  private func marked(of device: KnownDevice) throws(Failure) -> [Plan] {
    guard let transfers = try openIfThere() else { return [] }
    var plans: [Plan] = []
    for name in try names(transfers) {
      guard let directory = try? transfers.directory.openChildDirectory(name), let bytes = try? Self.read(directory),
        let remembered = try? Self.remembered(bytes, name), remembered.peer == device.peer,
        remembered.role == device.role
      else { continue }
      let isThere = try storing { () throws(SystemError) -> Bool in
        do throws(SystemError) {
          try directory.replaceFile(LockedTransferRecord.forgottenFile, with: [])
          try directory.synchronize()
          return true
        } catch {
          // Its process has ended it meanwhile, and removed it.
          if error.isNotFound { return false }
          throw error
        }
      }
      guard isThere else { continue }
      plans.append(Plan(transfers: transfers, name: name, remembered: remembered))
    }
    return plans
  }

  private func end(_ plan: Plan, _ forgotten: inout ForgottenDevice) throws {
    let directory: SharedDirectory
    do throws(SystemError) {
      directory = SharedDirectory(try plan.transfers.directory.openChildDirectory(plan.name))
      guard try directory.directory.descriptor.lockOnceFree(within: Self.endPatience) else {
        let holder = directory.directory.descriptor.lockHolder().map { "process \($0)" } ?? "another process"
        return note(plan, "\(holder) still ends the transfer, and removes it then", &forgotten)
      }
    } catch {
      if error.isNotFound { return note(plan, nil, &forgotten) }
      throw error
    }
    note(plan, try discard(plan.name, plan.remembered, in: plan.transfers), &forgotten)
  }

  /// Of a finished transfer, only its end was remembered.
  private func note(_ plan: Plan, _ notice: String?, _ forgotten: inout ForgottenDevice) {
    guard !plan.remembered.isDone else { return }
    forgotten.transfers.append(Forgotten(transfer: plan.remembered.transfer, notice: notice))
  }

  /// A device that was forgotten, and its unfinished transfers, which were removed with it.
  package struct ForgottenDevice: Sendable {
    package let device: KnownDevice
    package var transfers: [TransferStore.Forgotten] = []
  }
}
