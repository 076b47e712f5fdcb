/**
 * Distinguishes a ledger's folder from a copy by the inode and creation time (birth) of a file in the folder, and
 * by the machine.
 *
 * A copy on another disk may have the same inode number as the original, but its birth is the time of copying.
 * Rebooting, mounting the disk again and renaming the folder change none of the three values. An unknown value is null,
 * and is not compared.
 */

import { createHash } from "node:crypto";
import { open, readFile, stat } from "node:fs/promises";
import { platform } from "node:process";

export interface Origin {
  readonly inode: string | null;
  /** The creation time, in nanoseconds since 1970. */
  readonly birth: string | null;
  /** A digest of the machine's id. */
  readonly machine: string | null;
}

/** The files in which systemd and D-Bus store the id of an installation. Containers have no id. */
const MACHINE_IDS = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** The file's text until systemd generates an id during the first boot: machine-id(5). */
const UNINITIALIZED = "uninitialized";

/** Systems that report the birth of a file. Other systems may report the time of another change. */
const STATE_BIRTHS = ["linux", "darwin"];

/** Create the file that identifies a folder, unless it exists. */
export async function mark(path: string): Promise<void> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.sync();
    await file.close();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

/** Return the origin of this file; undefined if the file is missing. */
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

/**
 * Whether two origins belong to different folders. A ledger from a machine without an id is accepted on any
 * machine.
 */
export function contradicts(noted: Origin, found: Origin): boolean {
  const differ = (one: string | null, other: string | null) => one !== null && other !== null && one !== other;
  const isElsewhere = noted.machine !== null && noted.machine !== found.machine;
  return differ(noted.inode, found.inode) || differ(noted.birth, found.birth) || isElsewhere;
}

/** Return a digest of the id in the first file that contains an id. */
export async function machine(paths: readonly string[] = MACHINE_IDS): Promise<string | null> {
  for (const path of paths) {
    const id = (await readFile(path, "utf8").catch(() => "")).trim();
    if (id && id !== UNINITIALIZED) return createHash("sha256").update(`hearsay host 1\0${id}`).digest("hex");
  }
  return null;
}
