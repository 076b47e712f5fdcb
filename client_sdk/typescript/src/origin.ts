/**
 * What distinguishes a ledger's folder from a copy: inode and birth of a file in it, and the machine.
 *
 * On a fresh disk a copy may get the inode number that the original has elsewhere, but its birth is the time of copying.
 * All survive a reboot, a new mount and a new name of the folder. What is unknown is null and proves nothing.
 */

import { createHash } from "node:crypto";
import { open, readFile, stat } from "node:fs/promises";
import { platform } from "node:process";

export interface Origin {
  readonly inode: string | null;
  /** In nanoseconds since 1970. */
  readonly birth: string | null;
  /** A digest of the machine's id. */
  readonly machine: string | null;
}

/** Where systemd and D-Bus keep the id of an installation. Containers have none. */
const MACHINE_IDS = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** The file's text during the first boot, until systemd draws an id: machine-id(5). */
const UNINITIALIZED = "uninitialized";

/** Systems that state the birth of a file; elsewhere it may be the time of another change. */
const STATE_BIRTHS = ["linux", "darwin"];

/** Make the file that stands for a folder, unless it is there. */
export async function mark(path: string): Promise<void> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.sync();
    await file.close();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

/** Return the origin of that file; undefined if it is gone. */
export async function originOf(path: string): Promise<Origin | undefined> {
  const status = await stat(path, { bigint: true }).catch(() => undefined);
  if (!status) return undefined;
  const isStated = STATE_BIRTHS.includes(platform) && status.birthtimeNs > 0n;
  return {
    inode: status.ino ? String(status.ino) : null,
    birth: isStated ? String(status.birthtimeNs) : null,
    machine: await machine(),
  };
}

/** Whether two origins cannot be those of one folder. A ledger that was made without a machine's id is of any. */
export function contradicts(noted: Origin, found: Origin): boolean {
  const differ = (one: string | null, other: string | null) => one !== null && other !== null && one !== other;
  const isElsewhere = noted.machine !== null && noted.machine !== found.machine;
  return differ(noted.inode, found.inode) || differ(noted.birth, found.birth) || isElsewhere;
}

/** Return a digest of the id in the first file that has one. */
export async function machine(paths: readonly string[] = MACHINE_IDS): Promise<string | null> {
  for (const path of paths) {
    const id = (await readFile(path, "utf8").catch(() => "")).trim();
    if (id && id !== UNINITIALIZED) return createHash("sha256").update(`hearsay host 1\0${id}`).digest("hex");
  }
  return null;
}
