import { expect, it } from 'vitest';
import { whatsappFlowHarness } from '../channels/whatsapp/harness.ts';
import { Program } from '../gateway/program.ts';
import { describeInChromium } from './chromium.ts';

describeInChromium('a platform that is linked by a QR code', (rig) => {
  it('the page shows the QR code of WhatsApp until a phone has scanned it', async () => {
    const harness = await whatsappFlowHarness();
    const program = await Program.start({ config: { whatsapp: { enabled: true, ...harness.section } } });
    try {
      const page = await rig.page();
      await page.goto(program.link ?? '');
      await page.getByRole('button', { name: 'bubblewrap' }).click();
      const code = page.getByRole('img', { name: 'QR code' });
      await code.waitFor();
      expect(await code.locator('path').getAttribute('d')).toMatch(/^(M\d+ \d+h1v1h-1z){200,}$/);
      await page.getByText('waiting to be linked').waitFor();
      await harness.introduce?.(program.directory);
      await code.waitFor({ state: 'detached' });
      expect(program.output).not.toContain('█');
    } finally {
      await program.close();
      await harness.close();
    }
  });
});
