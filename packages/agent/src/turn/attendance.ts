/** Who answers questions: doors that a person sits at. Without one for an agent, nobody is asked. */
export class Attendance {
  private readonly doors = new Set<{ readonly plugin: string; readonly agent: string | undefined }>()

  /** @param agent one agent; absent: all of the app. Returns the call that ends it */
  add(plugin: string, agent: string | undefined): () => void {
    const door = { plugin, agent }
    this.doors.add(door)
    return () => void this.doors.delete(door)
  }

  /** True where somebody can be asked; with a plugin, where that one is a door. */
  has(agent: string, plugin?: string): boolean {
    for (const door of this.doors) {
      if ((door.agent === undefined || door.agent === agent) && (plugin === undefined || door.plugin === plugin)) return true
    }
    return false
  }
}
